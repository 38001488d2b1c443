/** A Redis that both pods and the host can reach. It keeps nothing. */
import { connect } from "node:net";
import type { Component } from "./component.ts";
import { needProgram } from "./machine.ts";
import { network, places } from "./places.ts";

export const redis: Component = {
  name: "redis",
  command: () => ({
    program: needProgram("redis-server"),
    args: [
      ...["--bind", network.node, "--port", String(network.redisPort)],
      // Protected mode would reject clients outside loopback; the lab's addresses are as private.
      ...["--protected-mode", "no"],
      ...["--save", "", "--appendonly", "no", "--dir", places.state],
    ],
  }),
  ready: () =>
    new Promise((resolve) => {
      const socket = connect(network.redisPort, network.node, () => socket.write("PING\r\n"));
      const settle = (ready: boolean) => {
        socket.destroy();
        resolve(ready);
      };
      // Rejected or cut: not ready yet, whatever the reason.
      socket.on("error", () => settle(false)).on("close", () => settle(false));
      socket.on("data", (answer) => settle(answer.toString("utf8").startsWith("+PONG")));
    }),
};
