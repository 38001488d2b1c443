/** Connections that are kept, some for each lane, so that none ever waits for another. */
import * as http from "node:http";
import * as https from "node:https";
import { createSecureContext } from "node:tls";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Lane } from "../client/transport.ts";
import type { Access } from "./credentials.ts";
import { GatheringAgent, PlainGatheringAgent } from "./gathering.ts";

/** Connections for calls; watches and what is passed on to pods have their own, so none waits for another. */
export const kubeSockets = 16;
/** For what is passed on to pods: a few per node of a large cluster that fell silent, and each is given up in time. */
const kubeProxySockets = 64;
/**
 * An idle connection is let go before a load balancer, the strictest of which wait a minute, cuts it; and before a
 * watch that died with it is given up, whose list must not wait for an answer on a connection that is dead too.
 */
const kubeIdleMs = 30 * second;
/** A peer that is gone without a word is noticed by the kernel so much later, and ten seconds of probes. */
export const kubeKeepAliveMs = 15 * second;

type Agents = Readonly<Record<Lane, http.Agent>>;

export interface AgentPool {
  at(access: Access): Agents;
  close(): void;
}

export function createAgentPool(): AgentPool {
  let current: { readonly agents: Agents; readonly mark: string } | undefined;
  /** Those with a certificate that was replaced since: what they carry may end by itself. */
  let retired: http.Agent[] = [];

  return {
    at(access) {
      if (current?.mark === access.tlsMark) return current.agents;
      if (current) retired = [...retired, ...Object.values(current.agents)].filter(isInUse);
      const agents = {
        calls: makeAgent(access, { maxSockets: kubeSockets }),
        streams: makeAgent(access, {}, { Plain: PlainGatheringAgent, Secure: GatheringAgent }),
        proxied: makeAgent(access, { maxSockets: kubeProxySockets }),
      };
      current = { agents, mark: access.tlsMark };
      return agents;
    },
    close() {
      for (const agent of [...retired, ...Object.values(current?.agents ?? {})]) agent.destroy();
    },
  };
}

function isInUse({ sockets, freeSockets }: http.Agent): boolean {
  return Object.keys(sockets).length + Object.keys(freeSockets).length > 0;
}

const ordinary = { Plain: http.Agent, Secure: https.Agent };

function makeAgent({ server, tls, path }: Access, bounds: http.AgentOptions, made = ordinary): http.Agent {
  const options = { keepAlive: true, keepAliveMsecs: kubeKeepAliveMs, timeout: kubeIdleMs, ...bounds };
  if (server.protocol !== "https:") return new made.Plain(options);
  try {
    // Else it would come to light only while connecting, looking like a failure of the server.
    createSecureContext(tls);
    return new made.Secure({ ...options, ...tls });
  } catch (thrown) {
    const reason = `its certificate or key: ${reasonOf(thrown)}`;
    throw new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason }, { cause: thrown });
  }
}
