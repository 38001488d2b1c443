/** One command at a time may change the lab. */
import { createServer, type Server } from "node:net";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { say } from "./say.ts";

/** A name among the kernel's abstract sockets: it goes with the process that holds it, however that ends. */
const address = "\0akash-provider-lab";

/** Two commands in a row are not worth a thought; a build takes minutes. */
const lookAgainMs = 200;

/** Waits for its turn. */
export async function alone<T>(work: () => Promise<T>): Promise<T> {
  const server = createServer();
  let told = false;
  while (!(await listens(server))) {
    if (!told) say("another command is at work on the lab; waiting for it to end");
    told = true;
    await sleep(realClock, lookAgainMs);
  }
  try {
    return await work();
  } finally {
    server.close();
  }
}

function listens(server: Server): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(false) : reject(error),
    );
    server.listen(address, () => {
      server.removeAllListeners("error");
      resolve(true);
    });
  });
}
