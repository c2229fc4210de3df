/** The page for those who have no session: at the issuer, with the link of `shunter ui`, or with a token or key. */
import { type FormEvent, useEffect, useState } from "react";
import { describeError } from "../api/problems";
import { findIssuer, issuerSignIn, signInWithToken } from "../api/session";
import { Command } from "../components/Command";
import styles from "./SignIn.module.css";

export function SignIn({ reason, onSignedIn }: { reason: string | null; onSignedIn: () => void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(reason);
  const [isBusy, setBusy] = useState(false);
  const [issuer, setIssuer] = useState<string | null>(null);
  useEffect(() => {
    void findIssuer().then(setIssuer);
  }, []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signInWithToken(token.trim());
      onSignedIn();
    } catch (error) {
      setProblem(describeError(error));
    }
    setBusy(false);
  };
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={submit}>
        <h1>Sign in to Shunter</h1>
        {issuer && (
          <a className={styles.issuer} href={issuerSignIn}>
            Sign in with {issuer}
          </a>
        )}
        <p>On a machine of the cluster, this opens a browser that is signed in, or prints a link:</p>
        <div className={styles.commands}>
          <Command text="shunter ui" />
          <Command text="shunter ui --print" />
        </div>
        <label htmlFor="token">Or paste an API key, or the token of the cluster</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          required
        />
        {problem && (
          <p role="alert" className={styles.problem}>
            {problem}
          </p>
        )}
        <button type="submit" data-kind="primary" disabled={isBusy || token.trim() === ""}>
          Sign in
        </button>
      </form>
    </main>
  );
}
