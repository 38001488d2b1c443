/** Reads request bodies, up to a limit. The server limits the time. */
import type { IncomingMessage } from "node:http";
import type { ByteHolding, RequestBudget } from "../../runtime/byte-budget.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { rateLimitKeyOf } from "./rate-limit-key.ts";
import { firstHeader } from "./request-head.ts";

export const noBody = new Uint8Array();

export function createBodyReader({ anonymous, accounts }: RequestBudget) {
  /** Resolves with the result of `use`; until then the budget holds the bytes of the body. */
  return async <T>(
    request: IncomingMessage,
    { mostBytes, account }: { readonly mostBytes: number; readonly account: string | undefined },
    use: (body: Uint8Array) => T | Promise<T>,
  ): Promise<T> => {
    if (Number(firstHeader(request, "content-length") ?? 0) > mostBytes) throw tooLarge(mostBytes);
    const holding = account === undefined ? anonymous.open(rateLimitKeyOf(request.socket)) : accounts.open(account);
    try {
      return await use(await readBody(request, mostBytes, holding));
    } finally {
      holding.resize(0);
    }
  };
}

function readBody(request: IncomingMessage, mostBytes: number, holding: ByteHolding): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  let [bytes, size] = [Buffer.alloc(0), 0];

  function take(chunk: Buffer): void {
    const wanted = size + chunk.length;
    if (wanted > mostBytes) fail(tooLarge(mostBytes));
    else if (wanted > bytes.length && !grow(wanted)) fail(new ProviderError("AKP_GATEWAY_BODIES_TOO_MANY", {}));
    // Copied, as a list of chunks of one byte each would take two hundred times its size.
    else size += chunk.copy(bytes, size);
  }

  function grow(wanted: number): boolean {
    const room = Math.min(mostBytes, Math.max(wanted, 2 * bytes.length));
    if (!holding.resize(room)) return false;
    bytes = Buffer.concat([bytes.subarray(0, size)], room);
    return true;
  }

  function fail(error: ProviderError): void {
    request.off("data", take);
    // The rest is discarded.
    request.resume();
    reject(error);
  }

  request.on("data", take);
  request.once("end", () => resolve(bytes.subarray(0, size)));
  // The client is gone, so nothing is sent.
  request.once("close", () => reject(new ProviderError("AKP_GATEWAY_CLIENT_GONE", {})));
  return promise;
}

function tooLarge(mostBytes: number): ProviderError {
  return new ProviderError("AKP_GATEWAY_BODY_TOO_LARGE", { mostBytes });
}
