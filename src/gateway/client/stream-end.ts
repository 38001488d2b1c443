/** What the end of a stream means to a tenant. */
import { printable } from "../../market/printable.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { closeCodes } from "../streams/close-codes.ts";
import type { Close } from "../streams/tenant-stream.ts";

/** Numbers that are never sent: a close frame need not have a code, and there may be none at all. */
const [noCode, noCloseFrame] = [1005, 1006];

/** As providers have them; what else they say is in the frame. */
const meanings: Readonly<Record<number, string>> = {
  [closeCodes.goingAway]: "it stops",
  [noCloseFrame]: "the connection ended without a word",
  [closeCodes.refused]: "it does not let us in any more",
  [closeCodes.internal]: "something failed there",
  [closeCodes.notFound]: "there is no such lease, or nothing of it runs",
  [closeCodes.clusterAway]: "its cluster does not answer",
};

/** Throws unless the provider said that this was all. */
export function checkEnd({ code, reason }: Close): void {
  if (code === closeCodes.done || code === noCode) return;
  const said = [meanings[code], reason && printable(reason)].filter(Boolean).join(": ");
  throw new ProviderError("AKP_PROVIDER_STREAM_ENDED", { reason: said ? `${said} (${code})` : `code ${code}` });
}
