/** A way to a node within the process that goes wrong as a test wants it; on the virtual clock, so nobody waits. */
import type { RawAnswer, RpcTransport } from "../../src/chain/comet/transport.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";

export interface FaultTransport extends RpcTransport {
  /** Which methods it takes calls of and never answers. */
  hangs: (method: string) => boolean;
  /** Gives the answer to a call; by default what the node answers. */
  answer: (method: string, ofNode: () => Promise<RawAnswer>) => Promise<RawAnswer>;
  /** The last block that this node ever sees. */
  frozenAt: bigint | undefined;
  /** Holds back the answer to the next call of a method until it is let go. */
  delay(method: string): { readonly answered: Promise<void>; letGo(): void };
}

export function faultTransport(inner: RpcTransport): FaultTransport {
  const closing = new AbortController();
  let held: { readonly method: string; answered(): void; readonly released: Promise<void> } | undefined;
  const transport: FaultTransport = {
    ...inner,
    hangs: () => false,
    answer: (_, ofNode) => ofNode(),
    frozenAt: undefined,
    delay(method) {
      const [answer, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      held = { method, answered: answer.resolve, released: release.promise };
      return { answered: answer.promise, letGo: release.resolve };
    },
    close() {
      closing.abort();
      inner.close();
    },
    async send(request, bounds) {
      if (transport.hangs(request.method)) {
        const ended = AbortSignal.any([bounds.signal, closing.signal]);
        await untilAborted(ended);
        throw ended.reason;
      }
      const { frozenAt } = transport;
      if (held?.method === request.method) {
        const { answered, released } = held;
        held = undefined;
        const answer = await inner.send(request, bounds);
        answered();
        await released;
        return answer;
      }
      if (frozenAt === undefined) return transport.answer(request.method, () => inner.send(request, bounds));
      const { params } = JSON.parse(request.text) as { params: { height?: string } };
      // What is above is rejected as by a node that has not come so far.
      const isAbove = request.method !== "status" && BigInt(params.height ?? 0) > frozenAt;
      const text = isAbove ? request.text.replace(/"height":"\d+"/, '"height":"99999999"') : request.text;
      const answer = await inner.send({ ...request, text }, bounds);
      const seen = `"latest_block_height":"${frozenAt}"`;
      return { ...answer, body: answer.body.replace(/"latest_block_height":"\d+"/, seen) };
    },
  };
  return transport;
}
