/** Kubernetes over HTTP: kept-alive connections, credentials, and a deadline for the head of a response. */
import * as http from "node:http";
import * as https from "node:https";
import type { Clock } from "../../runtime/clock.ts";
import { systemCodeOf } from "../../runtime/errors.ts";
import { kubeCallMs } from "../../runtime/limits.ts";
import { connectionError } from "../client/api-errors.ts";
import { createKubeClient, type KubeDeps } from "../client/kube-client.ts";
import type { SentRequest, Transport } from "../client/transport.ts";
import type { Kube } from "../kube.ts";
import { createAgentPool, gathered, kubeKeepAliveMs } from "./agents.ts";
import { type Access, createCredentials, type KubeCredentials } from "./credentials.ts";
import { type IdentityOptions, readIdentity } from "./kubeconfig.ts";
import { exec, forwardPort } from "./pod-socket.ts";

const userAgent = "akash-provider";

export function createKubeTransport({ credentials, clock }: { credentials: KubeCredentials; clock: Clock }): Transport {
  const agents = createAgentPool();
  /** Aborted when the transport is closed. */
  const ending = new AbortController();
  const { signal: closing } = ending;
  const deps = { credentials, agents, clock, closing };
  return {
    async send(request) {
      const { answerMs = kubeCallMs } = request;
      const untilMs = clock.monotonicMs() + answerMs;
      const access = await credentials.current({ signal: request.signal, answerMs });
      if (closing.aborted) throw connectionError(closing.reason, request, access);
      const { lane = "calls" } = request;
      const agent = agents.at(access)[lane];
      const authorization = access.authorization === undefined ? {} : { authorization: access.authorization };
      const headers = { "user-agent": userAgent, ...request.headers, ...authorization };
      const sent = { request: { ...request, headers, answerMs }, untilMs, access, agent, clock, closing };
      const response = await start(sent);
      const body = lane === "streams" ? gathered(response) : response;
      return { status: response.statusCode ?? 0, headers: response.headers, body, peer: access };
    },
    exec: (at, options) => exec(at, options, deps),
    forwardPort: (at, port, options) => forwardPort(at, port, options, deps),
    peer: () => credentials.current(),
    rejected: () => credentials.rejected(),
    close() {
      ending.abort(new Error("the connection is closed"));
      agents.close();
      credentials.close();
    },
  };
}

interface Exchange {
  readonly request: SentRequest & { readonly answerMs: number };
  /** Deadline of the response by the monotonic clock. */
  readonly untilMs: number;
  readonly access: Access;
  readonly agent: http.Agent;
  readonly clock: Clock;
  readonly closing: AbortSignal;
}

/** Resolves with the head of the response. The signal ends the body too. */
function start(exchange: Exchange, again = false): Promise<http.IncomingMessage> {
  const { request, untilMs, access, agent, clock, closing } = exchange;
  const { method, headers, body, signal, answerMs } = request;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (closing.aborted) return reject(connectionError(closing.reason, request, access));
    const url = urlOf(access.server, request.path);
    const begin = url.protocol === "https:" ? https.request : http.request;
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const outgoing = begin(url, { method, agent, headers: { ...headers, ...length } });
    const onAbort = () => outgoing.destroy(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    const giveUp = () => void outgoing.destroy(new Error(`no answer within ${answerMs} ms`));
    const timer = clock.timer(untilMs - clock.monotonicMs(), giveUp);
    signal?.addEventListener("abort", onAbort, { once: true });
    outgoing.on("socket", (socket) => socket.setKeepAlive(true, kubeKeepAliveMs));
    const onClosing = () => void outgoing.destroy(closing.reason);
    closing.addEventListener("abort", onClosing, { once: true });
    let answered = false;
    outgoing.on("response", (response) => {
      answered = true;
      timer.cancel();
      resolve(response);
    });
    outgoing.on("close", () => {
      timer.cancel();
      closing.removeEventListener("abort", onClosing);
      signal?.removeEventListener("abort", onAbort);
    });
    outgoing.on("error", (thrown) => {
      if (signal?.aborted) return reject(signal.reason);
      if (!again && !answered && outgoing.reusedSocket && isConnectionClosed(thrown) && mayRepeat(request)) {
        return resolve(start(exchange, true));
      }
      return reject(connectionError(thrown, request, access));
    });
    return outgoing.end(body);
  });
}

/** The server closed a kept-alive connection just when it was reused. */
function isConnectionClosed(thrown: unknown): boolean {
  return ["ECONNRESET", "EPIPE"].includes(systemCodeOf(thrown) ?? "");
}

function mayRepeat({ method, neverTwice = false }: SentRequest): boolean {
  return method !== "POST" && !neverTwice;
}

/** A server may be reached below a path, as behind a management plane. */
function urlOf(server: URL, path: string): URL {
  return new URL(`${server.href.replace(/\/$/, "")}${path}`);
}

interface HttpKubeOptions extends IdentityOptions {
  /** The name our writes carry: "akash-provider", "akash-operator-hostname" and so on. */
  readonly fieldManager: string;
}

export function createHttpKube(options: HttpKubeOptions, deps: KubeDeps): Kube {
  const credentials = createCredentials(() => readIdentity(options), deps.clock);
  return createKubeClient(createKubeTransport({ credentials, clock: deps.clock }), options.fieldManager, deps);
}
