/** A client of the node's WebSocket that keeps every message it gets. */
import { WebSocket } from "ws";
import type { Answer } from "./embedded-node.ts";
import { eventually } from "./eventually.ts";
import type { Owner } from "./owner.ts";

export interface RpcSocket {
  readonly socket: WebSocket;
  readonly messages: Answer[];
  send(method: string, params?: Record<string, unknown>, id?: string | number): void;
  /** The first `count` messages, as soon as there are that many. */
  first(count: number): Promise<Answer[]>;
}

export async function openRpcSocket(owner: Owner, rpcUrl: string): Promise<RpcSocket> {
  const socket = new WebSocket(`${rpcUrl.replace("http", "ws")}/websocket`);
  owner.after(() => socket.terminate());
  const messages: Answer[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(data.toString())));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return {
    socket,
    messages,
    send: (method, params = {}, id = 1) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params })),
    async first(count) {
      await eventually(`${count} messages`, () => messages.length >= count);
      return messages.slice(0, count);
    },
  };
}
