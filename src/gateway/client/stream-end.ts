/** What the end of a stream means to a tenant. */
import { printable } from "../../market/printable.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Close } from "../streams/tenant-stream.ts";

/** As providers have them; what else they say is in the frame. */
const meanings: Readonly<Record<number, string>> = {
  1001: "it stops",
  1006: "the connection ended without a word",
  1008: "it does not let us in any more",
  4000: "something failed there",
  4001: "there is no such lease, or nothing of it runs",
  4002: "its cluster does not answer",
};

/** Throws unless the provider said that this was all. */
export function checkEnd({ code, reason }: Close): void {
  // A close frame need not have a code.
  if (code === 1000 || code === 1005) return;
  const said = [meanings[code], reason && printable(reason)].filter(Boolean).join(": ");
  throw new ProviderError("AKP_PROVIDER_STREAM_ENDED", { reason: said ? `${said} (${code})` : `code ${code}` });
}
