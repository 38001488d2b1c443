/** Requests from outside the cluster, through the lab's ingress controller or to an address. */
import { Agent, request } from "node:http";
import { network } from "../../lab/places.ts";
import { eventually } from "../eventually.ts";

interface Asked {
  /** 0 where nothing answered. */
  readonly status: number;
  readonly body: string;
  /** How long before the end its first piece came. */
  readonly streamedMs: number;
}

interface AskOptions {
  /** "172.30.0.3", "172.30.0.3:81" */
  readonly at?: string;
  readonly path?: string;
  readonly body?: string;
  readonly agent?: Agent;
}

/** `fetch` would not let us choose the Host header. */
export function ask(host: string, { at = network.ingress, path = "/", body, agent }: AskOptions = {}): Promise<Asked> {
  const [address = "", port = "80"] = at.split(":");
  return new Promise((resolve) => {
    const failed = (error: Error) => resolve({ status: 0, body: String(error), streamedMs: 0 });
    const sent = request(
      {
        host: address,
        port,
        path,
        method: body === undefined ? "GET" : "POST",
        headers: { host },
        agent: agent ?? false,
      },
      (response) => {
        let text = "";
        let firstAtMs = Number.NaN;
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
          if (Number.isNaN(firstAtMs)) firstAtMs = performance.now();
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: text, streamedMs: performance.now() - firstAtMs }),
        );
        response.on("error", failed);
      },
    );
    sent.on("error", failed);
    sent.end(body);
  });
}

interface Stream {
  /** Until this many more have been asked. */
  more(requests: number): Promise<void>;
  /** Ends it; all that was asked has been answered then. */
  stop(): Promise<StreamCount>;
}

export interface StreamCount {
  readonly requests: number;
  /** Each that was not answered with 200, and when. */
  readonly lost: readonly string[];
  /** From the first that was lost to the first that was not, added up. */
  readonly gapMs: number;
  /** What was answered, in order, each once for as long as it stayed the same. */
  readonly bodies: readonly string[];
}

/** Asks a host name without a pause, several at once, over connections that stay open and over new ones. */
export function streamTo(host: string, workers = 4): Stream {
  const lost: string[] = [];
  const bodies: string[] = [];
  const startMs = performance.now();
  const atMs = () => Math.round(performance.now() - startMs);
  let requests = 0;
  let isOver = false;
  let [lostAtMs, gapMs] = [Number.NaN, 0];

  async function work(index: number): Promise<void> {
    const agent = new Agent({ keepAlive: index % 2 === 0, maxSockets: 1 });
    while (!isOver) {
      const { status, body } = await ask(host, { agent });
      requests += 1;
      if (status === 200) {
        if (!Number.isNaN(lostAtMs)) gapMs += atMs() - lostAtMs;
        lostAtMs = Number.NaN;
        if (!bodies.includes(body)) bodies.push(body);
      } else {
        lost.push(`${status} after ${atMs()} ms`);
        if (Number.isNaN(lostAtMs)) lostAtMs = atMs();
      }
    }
    agent.destroy();
  }

  const working = Promise.all(Array.from({ length: workers }, (_, index) => work(index)));
  return {
    async more(wanted) {
      const until = requests + wanted;
      await eventually("the requests", () => requests >= until);
    },
    async stop() {
      isOver = true;
      await working;
      return { requests, lost, gapMs, bodies };
    },
  };
}
