/** Credentials of a connection. Tokens, certificates and the kubeconfig are reread now and then, and when the server rejects them. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { z } from "zod";
import { type Clock, formatTime, withDeadline } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { redactorSecretMostChars } from "../../runtime/limits.ts";
import { createRedactor } from "../../runtime/redact.ts";
import type { Peer } from "../client/api-errors.ts";
import type { KubeIdentity, Material, Plugin } from "./kubeconfig.ts";

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
interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  readonly answerMs?: number | undefined;
}

export interface KubeCredentials {
  current(patience?: WaitOptions): Promise<Access>;
  /** The server said 401. */
  rejected(): void;
  /** Nobody needs them any more. */
  close(): void;
}

/** `read` is asked anew each time, so a kubeconfig that was replaced is seen. */
export function createCredentials(read: () => KubeIdentity, clock: Clock): KubeCredentials {
  let access: Promise<Access> | undefined;
  let lookAgainMs = 0;
  const ending = new AbortController();
  let plugin: { readonly of: string; readonly identity: KubeIdentity; readonly runs: CredentialPlugin } | undefined;

  function pluginOf(identity: KubeIdentity): CredentialPlugin | undefined {
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
    rejected() {
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

function basic({ basic: login }: KubeIdentity): string | undefined {
  return login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
}

/** A credential plugin may open a browser or ask a cloud. */
export const kubePluginMs = minute;
const kubePluginBytes = 1024 * 1024;
/** A token is renewed so long before it expires. */
const kubeTokenMarginMs = 30 * second;

interface PluginCredential {
  readonly token: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

interface CredentialPlugin {
  credential(): Promise<PluginCredential>;
  /** The server did not like it: ask the command anew. */
  forget(): void;
}

const answerShape = z.object({
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
});

/** The signal ends a command that is under way, and with it whoever waits for its answer. */
export function createCredentialPlugin(
  identity: KubeIdentity,
  plugin: Plugin,
  clock: Clock,
  signal: AbortSignal,
): CredentialPlugin {
  let asking: Promise<PluginCredential> | undefined;
  let kept: { readonly credential: PluginCredential; readonly expires: Expiry } | undefined;

  async function ask(): Promise<PluginCredential> {
    try {
      const { status } = answerShape.parse(JSON.parse(await run(identity, plugin, clock, signal)));
      const credential = { token: status.token, cert: status.clientCertificateData, key: status.clientKeyData };
      kept = { credential, expires: status.expirationTimestamp };
      return credential;
    } catch (thrown) {
      const told = thrown instanceof z.ZodError || thrown instanceof SyntaxError;
      const reason = told ? "it printed no ExecCredential" : reasonOf(thrown);
      throw new ProviderError("AKP_KUBE_PLUGIN_FAILED", { command: plugin.command, path: identity.path, reason });
    }
  }

  return {
    async credential() {
      if (kept && !isPast(kept.expires, clock.now() + kubeTokenMarginMs)) return kept.credential;
      // Whoever comes meanwhile waits for the same answer: a second command would ask a person to log in twice.
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    forget() {
      kept = undefined;
    },
  };
}

/** Without one it stays good until the server refuses it. */
type Expiry = z.infer<typeof answerShape>["status"]["expirationTimestamp"];

/** The present is written in the zone of the expiry, down to the second; then texts compare as times do. */
function isPast(expires: Expiry, nowMs: number): boolean {
  if (!expires) return false;
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(expires) ?? [];
  const aheadMs = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000 * (sign === "-" ? -1 : 1);
  return formatTime(nowMs + aheadMs).slice(0, 19) >= expires.slice(0, 19);
}

/** What the command prints. */
async function run(identity: KubeIdentity, plugin: Plugin, clock: Clock, signal: AbortSignal): Promise<string> {
  const { apiVersion, command, args, env } = plugin;
  const spec = { interactive: false, ...(plugin.provideClusterInfo ? { cluster: clusterInfo(identity) } : {}) };
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
  const late = new AbortController();
  const ending = AbortSignal.any([signal, late.signal]);
  const running = promisify(execFile)(command, args ?? [], {
    env: { ...process.env, ...own, KUBERNETES_EXEC_INFO: info },
    signal: ending,
    killSignal: "SIGKILL",
    maxBuffer: kubePluginBytes,
  });
  const { stdin, stdout, stderr } = running.child;
  stdin?.end();
  const giveUp = () => late.abort(new Error(`no answer within ${kubePluginMs} ms`));
  const timer = clock.timer(kubePluginMs, giveUp);
  // What it started itself may live on and hold its pipes: once the command has ended, the signal alone ends nothing.
  ending.addEventListener("abort", () => [stdout, stderr].map((pipe) => pipe?.destroy()), { once: true });
  try {
    const { stdout: printed } = await running;
    ending.throwIfAborted();
    return printed;
  } catch (thrown) {
    ending.throwIfAborted();
    const { code, stderr } = thrown as { code?: unknown; stderr?: string };
    if (code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") throw new Error(`more than ${kubePluginBytes} bytes`);
    if (typeof code === "string") throw thrown;
    throw new Error(`exit code ${code}: ${stderr?.trim().slice(0, 500)}`);
  } finally {
    timer.cancel();
  }
}

function clusterInfo({ server, serverName, skipVerify, ca }: KubeIdentity): Record<string, unknown> {
  const authority = ca && "text" in ca ? { "certificate-authority-data": Buffer.from(ca.text).toString("base64") } : {};
  return {
    server: server.href,
    ...authority,
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
    ...(skipVerify ? { "insecure-skip-tls-verify": true } : {}),
  };
}
