/** Requests over HTTP: kept connections, credentials, and a time limit for the head of an answer. */
import * as http from "node:http";
import * as https from "node:https";
import type { Clock } from "../../runtime/clock.ts";
import { limits } from "../../runtime/limits.ts";
import { connectionError } from "../client/refusal.ts";
import type { SentRequest, Transport } from "../client/transport.ts";
import { createAgentPool } from "./agents.ts";
import type { Access, Credentials } from "./credentials.ts";
import { exec } from "./exec.ts";

export interface HttpTransportDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
}

const userAgent = "akash-provider";

export function createHttpTransport({ credentials, clock }: HttpTransportDeps): Transport {
  const agents = createAgentPool();
  return {
    async send(request) {
      const access = await credentials.current();
      const { calls, watches } = agents.at(access);
      const authorization = access.authorization === undefined ? {} : { authorization: access.authorization };
      const headers = { "user-agent": userAgent, ...request.headers, ...authorization };
      const agent = request.streams ? watches : calls;
      const body = await start({ request: { ...request, headers }, access, agent, clock });
      return { status: body.statusCode ?? 0, headers: body.headers, body, peer: access };
    },
    exec: (at, options) => exec(at, options, { credentials, clock }),
    peer: () => credentials.current(),
    refused: () => credentials.refused(),
    close: () => agents.close(),
  };
}

interface Exchange {
  readonly request: SentRequest;
  readonly access: Access;
  readonly agent: http.Agent;
  readonly clock: Clock;
}

/** Resolves with the head of the answer. The signal ends the body too. */
function start({ request, access, agent, clock }: Exchange, again = false): Promise<http.IncomingMessage> {
  const { method, headers, body, signal, answerMs = limits.kubeCallMs } = request;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const url = urlOf(access.server, request.path);
    const begin = url.protocol === "https:" ? https.request : http.request;
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const outgoing = begin(url, { method, agent, headers: { ...headers, ...length } });
    const onAbort = () => outgoing.destroy(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    const timer = clock.timer(answerMs, () => outgoing.destroy(new Error(`no answer within ${answerMs} ms`)));
    signal?.addEventListener("abort", onAbort, { once: true });
    outgoing.on("socket", (socket) => socket.setKeepAlive(true, limits.kubeKeepAliveMs));
    outgoing.on("response", (response) => {
      timer.cancel();
      resolve(response);
    });
    outgoing.on("close", () => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    });
    outgoing.on("error", (thrown) => {
      if (signal?.aborted) return reject(signal.reason);
      // The server let go of a kept connection just when we took it: it never saw the request.
      if (outgoing.reusedSocket && !again && method !== "POST") {
        return resolve(start({ request, access, agent, clock }, true));
      }
      return reject(connectionError(thrown, request, access));
    });
    return outgoing.end(body);
  });
}

/** A server may be reached below a path, as behind a management plane. */
function urlOf(server: URL, path: string): URL {
  return new URL(`${server.href.replace(/\/$/, "")}${path}`);
}
