/** Reads what comes with a request, up to a bound. How long that may take is the server's to say. */
import type { IncomingMessage } from "node:http";
import { ProviderError } from "../../runtime/errors.ts";

export const noBody = new Uint8Array();

export function readBody(request: IncomingMessage, mostBytes: number): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const chunks: Buffer[] = [];
  let size = 0;
  // Before the first byte: most who send too much say so.
  if (Number(request.headers["content-length"] ?? 0) > mostBytes) return Promise.reject(tooLarge(mostBytes));
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= mostBytes) {
      chunks.push(chunk);
      return;
    }
    chunks.length = 0;
    request.pause();
    reject(tooLarge(mostBytes));
  });
  request.once("end", () => {
    const [only = noBody] = chunks;
    resolve(chunks.length > 1 ? Buffer.concat(chunks, size) : only);
  });
  // Nobody hears the answer then.
  request.once("close", () => reject(new ProviderError("AKP_GATEWAY_CLIENT_GONE", {})));
  return promise;
}

function tooLarge(mostBytes: number): ProviderError {
  return new ProviderError("AKP_GATEWAY_BODY_TOO_LARGE", { mostBytes });
}
