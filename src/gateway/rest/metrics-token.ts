/** The token that opens all metrics, out of a file that its operator may change at any time. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { followFile } from "../../runtime/followed-file.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";

/** Less is guessed. */
const leastChars = 16;

export function followToken(
  path: string | undefined,
  scope: Pick<Scope, "onStop">,
  deps: { readonly clock: Clock; readonly log: Log },
): () => string | undefined {
  if (path === undefined) return () => undefined;
  const read = (text: string) => {
    const token = text.trim();
    if (token.length < leastChars || /\s/.test(token))
      throw new ProviderError("AKP_GATEWAY_TOKEN_UNUSABLE", { path, leastChars });
    return token;
  };
  const file = followFile({ path, read, what: "metrics token file" }, deps);
  scope.onStop(file.close);
  // One that was taken away, or is none any more, opens nothing.
  return () => (file.trouble === undefined ? file.current : undefined);
}
