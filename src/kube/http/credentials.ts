/**
 * What a connection shows and trusts. Tokens, certificates and the kubeconfig itself are renewed under our feet, so
 * they are read again now and then, and at once when the server refuses them.
 */
import { readFileSync } from "node:fs";
import { type Clock, withDeadline } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { redactorSecretMostChars } from "../../runtime/limits.ts";
import { createRedactor } from "../../runtime/redact.ts";
import type { Peer } from "../client/refusal.ts";
import { type CredentialPlugin, createCredentialPlugin, kubePluginMs } from "./credential-plugin.ts";
import type { Identity, Material } from "./kubeconfig.ts";

/** How often the kubeconfig, tokens and certificates are looked at: what client-go does. */
export const kubeIdentityMs = minute;

interface TlsMaterial {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

export interface Access extends Peer {
  readonly authorization: string | undefined;
  readonly tls: TlsMaterial;
  /** Changes when connections must be made anew. */
  readonly tlsMark: string;
}

/** How long somebody waits for them. */
interface Patience {
  readonly signal?: AbortSignal | undefined;
  readonly answerMs?: number | undefined;
}

export interface Credentials {
  current(patience?: Patience): Promise<Access>;
  /** The server said 401. */
  refused(): void;
  /** Nobody needs them any more. */
  close(): void;
}

/** `read` is asked anew each time, so a kubeconfig that was replaced is seen. */
export function createCredentials(read: () => Identity, clock: Clock): Credentials {
  let access: Promise<Access> | undefined;
  let lookAgainMs = 0;
  const ending = new AbortController();
  let plugin: { readonly of: string; readonly identity: Identity; readonly runs: CredentialPlugin } | undefined;

  function pluginOf(identity: Identity): CredentialPlugin | undefined {
    if (!identity.plugin) return undefined;
    // What it says is for one cluster: at another address it is asked anew, and told of that one.
    const of = JSON.stringify([identity.plugin, identity.server]);
    if (plugin?.of !== of)
      plugin = { of, identity, runs: createCredentialPlugin(identity, identity.plugin, clock, ending.signal) };
    return plugin.runs;
  }

  function latest(): Promise<Access> {
    const nowMs = clock.monotonicMs();
    if (access && nowMs < lookAgainMs) return access;
    lookAgainMs = nowMs + kubeIdentityMs;
    const looking = look();
    access = looking;
    // A failure is not kept: whoever asks next looks again.
    looking.catch(() => {
      if (access === looking) access = undefined;
    });
    return looking;
  }

  async function look(): Promise<Access> {
    const identity = read();
    const fromPlugin = await pluginOf(identity)?.credential();
    const text = (material: Material | undefined) => readMaterial(material, identity.path);
    const token = fromPlugin?.token ?? text(identity.token)?.trim();
    const tls = {
      rejectUnauthorized: !identity.skipVerify,
      ca: text(identity.ca),
      cert: fromPlugin?.cert ?? text(identity.cert),
      key: fromPlugin?.key ?? text(identity.key),
      servername: identity.serverName,
    };
    return {
      path: identity.path,
      server: identity.server,
      mask: maskOf([token, identity.basic?.password]),
      authorization: token ? `Bearer ${token}` : basic(identity),
      tls,
      tlsMark: JSON.stringify([identity.server.href, tls]),
    };
  }

  return {
    current({ signal, answerMs = kubePluginMs } = {}) {
      // Only a plugin takes its time; it goes on for whoever waits longer.
      const late = () => {
        const { path = "", plugin: used } = plugin?.identity ?? {};
        const reason = `no answer within ${answerMs} ms`;
        throw new ProviderError("AKP_KUBE_PLUGIN_FAILED", { command: used?.command ?? "", path, reason });
      };
      return endedBy(withDeadline(clock, answerMs, latest(), late), signal);
    },
    refused() {
      plugin?.runs.forget();
      access = undefined;
    },
    close: () => ending.abort(new Error("the connection is closed")),
  };
}

function readMaterial(material: Material | undefined, path: string): string | undefined {
  if (material === undefined) return undefined;
  if ("text" in material) return material.text;
  try {
    return readFileSync(material.file, "utf8");
  } catch (thrown) {
    const reason = `${material.file}: ${reasonOf(thrown)}`;
    throw new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason }, { cause: thrown });
  }
}

function maskOf(secrets: readonly (string | undefined)[]): (text: string) => string {
  const redactor = createRedactor();
  for (const secret of secrets) if (secret) redactor.register(secret.slice(0, redactorSecretMostChars));
  return redactor.text;
}

function basic({ basic: login }: Identity): string | undefined {
  return login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
}
