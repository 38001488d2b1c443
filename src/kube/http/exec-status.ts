/** How a command ended, as the API tells it. */
import { parseJson } from "../../runtime/parse-json.ts";
import { type Asked, malformedAnswer, type Peer, refusalError } from "../client/refusal.ts";

interface ExecStatus {
  readonly status?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

export async function exitCodeOf(bytes: Buffer, asked: Asked, peer: Peer): Promise<number> {
  const status = parseJson(bytes.toString()) as ExecStatus | undefined;
  if (status === undefined) throw malformedAnswer("no exit status", asked, peer);
  if (status.status === "Success") return 0;
  const cause = status.details?.causes?.find(({ reason }) => reason === "ExitCode");
  if (status.reason === "NonZeroExitCode" && cause?.message !== undefined) return Number(cause.message);
  throw refusalError({ status: status.code ?? 500, body: bytes.toString() }, asked, peer);
}
