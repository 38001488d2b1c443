/** Reads what comes with a request, up to a bound. How long that may take is the server's to say. */
import type { IncomingMessage } from "node:http";
import { createCounts } from "../../runtime/counts.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { placeOf } from "../auth/place.ts";
import { firstHeader } from "./raw-headers.ts";

export const noBody = new Uint8Array();

type BodyReader = (request: IncomingMessage, mostBytes: number) => Promise<Uint8Array>;

export function createBodyReader(): BodyReader {
  /** What is held of bodies that are not whole, by the place that they come from. */
  const held = createCounts();
  return (request, mostBytes) => {
    // Before the first byte: most who send too much say so.
    if (Number(firstHeader(request, "content-length") ?? 0) > mostBytes) return Promise.reject(tooLarge(mostBytes));
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const place = placeOf(request.socket.remoteAddress ?? "");
    let [bytes, size] = [Buffer.alloc(0), 0];

    function take(chunk: Buffer): void {
      const wanted = size + chunk.length;
      if (wanted > mostBytes) refuse(tooLarge(mostBytes));
      else if (wanted > bytes.length && !grow(wanted)) refuse(new ProviderError("AKP_GATEWAY_BODIES_TOO_MANY", {}));
      // Kept as it came, a body in chunks of one byte each would take two hundred times its size.
      else size += chunk.copy(bytes, size);
    }

    function grow(wanted: number): boolean {
      const room = Math.min(mostBytes, Math.max(wanted, 2 * bytes.length));
      if (held.of(place) + room - bytes.length > limits.gatewayBodiesOfPlaceBytes) return false;
      held.add(place, room - bytes.length);
      bytes = Buffer.concat([bytes.subarray(0, size)], room);
      return true;
    }

    function refuse(why: ProviderError): void {
      leave();
      // The rest is thrown away, until the connection ends or the next request comes.
      request.resume();
      reject(why);
    }

    function leave(): void {
      request.off("data", take);
      held.add(place, -bytes.length);
      bytes = Buffer.alloc(0);
    }

    request.on("data", take);
    request.once("end", () => {
      resolve(bytes.subarray(0, size));
      leave();
    });
    // Nobody hears the answer then.
    request.once("close", () => {
      reject(new ProviderError("AKP_GATEWAY_CLIENT_GONE", {}));
      leave();
    });
    return promise;
  };
}

function tooLarge(mostBytes: number): ProviderError {
  return new ProviderError("AKP_GATEWAY_BODY_TOO_LARGE", { mostBytes });
}
