/** One command at a time may change the lab. */
import { createServer, type Server } from "node:net";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { say } from "./say.ts";

/** Two commands in a row are not worth a thought; a build takes minutes. */
const lookAgainMs = 200;

/** Waits for its turn. */
export async function alone<T>(work: () => Promise<T>): Promise<T> {
  const end = await takeTurn("lab", () => say("another command is at work on the lab; waiting for it to end"));
  try {
    return await work();
  } finally {
    end();
  }
}

/** A lock between processes: others with that name wait until the returned function is called. */
export async function takeTurn(name: string, onWait: () => void = () => undefined): Promise<() => void> {
  const server = createServer();
  for (let reported = false; !(await listens(server, name)); reported = true) {
    if (!reported) onWait();
    await sleep(realClock, lookAgainMs);
  }
  return () => void server.close();
}

/** A name among the kernel's abstract sockets: it goes with the process that holds it, however that ends. */
function listens(server: Server, name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      // Or each look would leave one behind.
      server.removeAllListeners("listening");
      if (error.code === "EADDRINUSE") resolve(false);
      else reject(error);
    });
    server.listen(`\0akash-provider-${name}`, () => {
      server.removeAllListeners("error");
      resolve(true);
    });
  });
}
