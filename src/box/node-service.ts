/** The node of an embedded chain as a service; it dies when a block could not be made. */
import { type Service, untilAborted } from "../runtime/lifecycle.ts";
import type { Node } from "./chain/node/node.ts";

export function createNodeService(node: Node): Service {
  return {
    name: "node",
    async start(scope) {
      scope.onStop(() => node.stop());
      await node.start();
      scope.task("blocks", (signal) => Promise.race([untilAborted(signal), node.failed]));
    },
    detail: () => `${node.rpcUrl}, gRPC ${node.grpcUrl}`,
  };
}
