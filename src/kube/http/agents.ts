/** Connections that are kept: some for calls, others for watches, so that neither ever waits for the other. */
import * as http from "node:http";
import * as https from "node:https";
import { createSecureContext } from "node:tls";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Access } from "./credentials.ts";

export interface Agents {
  readonly calls: http.Agent;
  readonly watches: http.Agent;
}

export interface AgentPool {
  at(access: Access): Agents;
  close(): void;
}

export function createAgentPool(): AgentPool {
  let current: (Agents & { readonly mark: string }) | undefined;
  /** Those with a certificate that was replaced since: what they carry may end by itself. */
  let retired: http.Agent[] = [];

  return {
    at(access) {
      if (current?.mark === access.tlsMark) return current;
      if (current) retired = [...retired, current.calls, current.watches].filter(isInUse);
      const calls = makeAgent(access, { maxSockets: limits.kubeSockets });
      current = { calls, watches: makeAgent(access, {}), mark: access.tlsMark };
      return current;
    },
    close() {
      for (const agent of [...retired, ...(current ? [current.calls, current.watches] : [])]) agent.destroy();
    },
  };
}

function isInUse({ sockets, freeSockets }: http.Agent): boolean {
  return Object.keys(sockets).length + Object.keys(freeSockets).length > 0;
}

function makeAgent({ server, tls, path }: Access, bounds: http.AgentOptions): http.Agent {
  const options = { keepAlive: true, keepAliveMsecs: limits.kubeKeepAliveMs, timeout: limits.kubeIdleMs, ...bounds };
  if (server.protocol !== "https:") return new http.Agent(options);
  try {
    // Else it would come to light only while connecting, looking like a failure of the server.
    createSecureContext(tls);
    return new https.Agent({ ...options, ...tls });
  } catch (thrown) {
    const reason = `its certificate or key: ${reasonOf(thrown)}`;
    throw new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason }, { cause: thrown });
  }
}
