import { createNodeTransport } from "../../src/chain/comet/http-transport.ts";
import { checkTransport } from "../support/contracts/rpc-transport.contract.ts";

checkTransport({
  name: "over HTTP and WebSocket",
  open: ({ rpcUrl: url }, clock) => createNodeTransport({ url }, clock),
});

checkTransport({ name: "within the process", open: (node) => node.transport() });
