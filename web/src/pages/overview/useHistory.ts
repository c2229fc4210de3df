/** The last values of a number, one for each step, while the page is open. */
import { useEffect, useRef, useState } from "react";
import { STEP_S } from "../../model/pulse";

const STEPS = 60;

export function useHistory(value: number): (number | null)[] {
  const latest = useRef(value);
  latest.current = value;
  const [values, setValues] = useState<(number | null)[]>(() => [...new Array<null>(STEPS - 1).fill(null), value]);
  useEffect(() => {
    const timer = setInterval(() => setValues((old) => [...old.slice(1), latest.current]), STEP_S * 1000);
    return () => clearInterval(timer);
  }, []);
  return [...values.slice(0, -1), value];
}
