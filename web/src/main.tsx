/** Starts the application: signs in with the code of the address, then shows the pages or asks to sign in. */
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Live } from "./api/live";
import { ApiError, describeError, isSignedOut } from "./api/problems";
import { meQuery } from "./api/queries";
import { signInWithCode, takeCode, takeSignInError } from "./api/session";
import { makeRouter } from "./router";
import { LiveContext } from "./shell/LiveContext";
import { applyTheme, watchSystemTheme } from "./shell/theme";
import { watchVersion } from "./shell/version";
import "./styles/tokens.css";
import "./styles/global.css";

const FRESH_MS = 1000;
const root = createRoot(document.getElementById("app") as HTMLElement);

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && void askToSignIn("The session has ended.") }),
  defaultOptions: {
    queries: { staleTime: FRESH_MS, retry: (count, error) => count < 2 && !(error instanceof ApiError) },
  },
});

applyTheme();
watchSystemTheme();
void start();

async function start(): Promise<void> {
  const code = takeCode();
  let reason = takeSignInError();
  if (code) {
    await signInWithCode(code).catch((error) => {
      reason = describeError(error);
    });
  }
  try {
    await queries.fetchQuery(meQuery);
  } catch (error) {
    if (isSignedOut(error)) return askToSignIn(reason);
  }
  showPages();
}

async function askToSignIn(reason: string | null): Promise<void> {
  const { SignIn } = await import("./shell/SignIn");
  root.render(
    <StrictMode>
      <SignIn reason={reason} onSignedIn={() => location.reload()} />
    </StrictMode>,
  );
}

function showPages(): void {
  const live = new Live(queries);
  watchVersion();
  root.render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <LiveContext value={live}>
          <RouterProvider router={makeRouter(queries)} />
        </LiveContext>
      </QueryClientProvider>
    </StrictMode>,
  );
}
