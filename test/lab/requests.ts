/** Requests from outside the cluster, through the lab's ingress controller or to an address. */
import { Agent, request } from "node:http";
import { network } from "../../lab/places.ts";
import { eventually } from "../support/eventually.ts";

interface HttpAnswer {
  /** 0 where nothing answered. */
  readonly status: number;
  readonly body: string;
}

interface AskOptions {
  /** "172.30.0.3", "172.30.0.3:81" */
  readonly at?: string;
  readonly path?: string;
  readonly body?: string;
  readonly agent?: Agent;
  /** The first piece of the answer has come. */
  readonly onBegin?: () => void;
}

/** `fetch` would not let us choose the Host header. */
export function ask(host: string, options: AskOptions = {}): Promise<HttpAnswer> {
  const { at = network.ingress, path = "/", body, agent, onBegin } = options;
  const [address = "", port = "80"] = at.split(":");
  return new Promise((resolve) => {
    const failed = (error: Error) => resolve({ status: 0, body: String(error) });
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
        response.setEncoding("utf8").on("data", (piece: string) => {
          if (text === "") onBegin?.();
          text += piece;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
        response.on("error", failed);
      },
    );
    sent.on("error", failed);
    sent.end(body);
  });
}

interface Stream {
  /** Waits until this many more requests were answered. */
  more(requests: number): Promise<void>;
  /** Ends it after the answers to all sent requests. */
  stop(): Promise<StreamCount>;
}

export interface StreamCount {
  readonly requests: number;
  /** Each that was not answered with 200, and when. */
  readonly lost: readonly string[];
  /** From the first that was lost to the first that was not, added up. */
  readonly gapMs: number;
  /** Distinct bodies of the answers, in order. */
  readonly bodies: readonly string[];
}

/** Sends requests to a host name without a pause, over one kept connection and over new ones. */
export function streamTo(host: string): Stream {
  const lost: string[] = [];
  const bodies: string[] = [];
  const startMs = performance.now();
  const atMs = () => Math.round(performance.now() - startMs);
  let requests = 0;
  let isOver = false;
  let [lostAtMs, gapMs] = [Number.NaN, 0];

  async function work(keepAlive: boolean): Promise<void> {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
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

  const working = Promise.all([work(true), work(false)]);
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
