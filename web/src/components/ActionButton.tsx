/** A button of a change. Whoever may not make it can still focus the button, and is told why. */
import type { ComponentProps } from "react";
import type { Right } from "../model/rights";
import { useRefusal } from "../shell/useRefusal";
import { sayError } from "./Toasts";

interface ActionButtonProps extends Omit<ComponentProps<"button">, "type"> {
  right: Right;
  "data-kind"?: "primary" | "plain" | undefined;
}

export function ActionButton({ right, onClick, title, ...rest }: ActionButtonProps) {
  const refusal = useRefusal(right);
  if (!refusal) return <button type="button" title={title} onClick={onClick} {...rest} />;
  return (
    <button
      {...rest}
      type="button"
      disabled={false}
      aria-disabled="true"
      title={refusal}
      onClick={() => sayError(new Error(refusal))}
    />
  );
}
