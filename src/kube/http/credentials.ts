/** Credentials of a connection. Tokens, certificates and the kubeconfig are reread at an interval, and when the server rejects them. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { z } from "zod";
import { type Clock, parseTime, withDeadline } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { redactorSecretMostChars } from "../../runtime/limits.ts";
import { createRedactor } from "../../runtime/redact.ts";
import type { Peer } from "../client/api-errors.ts";
import type { KubeIdentity, Material, Plugin } from "./kubeconfig.ts";

/** Interval of rereading, as in client-go. */
export const kubeIdentityMs = minute;

export interface Access extends Peer {
  readonly authorization: string | undefined;
  readonly tls: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
    readonly servername?: string | undefined;
    readonly rejectUnauthorized: boolean;
  };
  /** Changes when connections must be made anew. */
  readonly tlsMark: string;
}

interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  readonly answerMs?: number | undefined;
}

export type KubeCredentials = ReturnType<typeof createCredentials>;

/** `read` is called at each interval, so a replaced kubeconfig is used. */
export function createCredentials(read: () => KubeIdentity, clock: Clock) {
  let access: Promise<Access> | undefined;
  let rereadAtMs = 0;
  const ending = new AbortController();
  let plugin:
    | (ReturnType<typeof createCredentialPlugin> & { readonly key: string; readonly command: string })
    | undefined;
  let path = "";

  function pluginOf(identity: KubeIdentity) {
    if (!identity.plugin) return undefined;
    // A credential is for one cluster, so another address has a plugin of its own.
    const key = JSON.stringify([identity.plugin, identity.server]);
    if (plugin?.key === key) return plugin;
    const { command } = identity.plugin;
    plugin = { key, command, ...createCredentialPlugin(identity, identity.plugin, clock, ending.signal) };
    path = identity.path;
    return plugin;
  }

  function latest(): Promise<Access> {
    const nowMs = clock.monotonicMs();
    if (access && nowMs < rereadAtMs) return access;
    rereadAtMs = nowMs + kubeIdentityMs;
    const reading = readAccess();
    access = reading;
    // A failure is not cached.
    reading.catch(() => {
      if (access === reading) access = undefined;
    });
    return reading;
  }

  async function readAccess(): Promise<Access> {
    const identity = read();
    const fromPlugin = await pluginOf(identity)?.credential();
    const text = (material: Material | undefined) => readMaterial(material, identity.path);
    const token = fromPlugin?.token ?? text(identity.token)?.trim();
    const tls = {
      rejectUnauthorized: !identity.skipVerify,
      ca: text(identity.ca),
      cert: fromPlugin?.clientCertificateData ?? text(identity.cert),
      key: fromPlugin?.clientKeyData ?? text(identity.key),
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
    current({ signal, answerMs = kubePluginMs }: WaitOptions = {}): Promise<Access> {
      // Only a plugin takes time; it goes on for callers that wait longer.
      const late = () => {
        const reason = `no answer within ${answerMs} ms`;
        throw new ProviderError("AKP_KUBE_PLUGIN_FAILED", { command: plugin?.command ?? "", path, reason });
      };
      return endedBy(withDeadline(clock, answerMs, latest(), late), signal);
    },
    /** The server responded 401. */
    rejected(): void {
      plugin?.forget();
      access = undefined;
    },
    close: (): void => ending.abort(new Error("the connection is closed")),
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
/** Time before its expiry at which a token is renewed. */
const kubeTokenMarginMs = 30 * second;

const answerShape = z.object({
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
});

type PluginStatus = z.infer<typeof answerShape>["status"];

/** The signal kills a running command, and rejects those who wait for it. */
export function createCredentialPlugin(identity: KubeIdentity, plugin: Plugin, clock: Clock, signal: AbortSignal) {
  let running: Promise<PluginStatus> | undefined;
  let kept: PluginStatus | undefined;

  async function runCommand(): Promise<PluginStatus> {
    try {
      kept = answerShape.parse(JSON.parse(await run(identity, plugin, clock, signal))).status;
      return kept;
    } catch (thrown) {
      const isOutput = thrown instanceof z.ZodError || thrown instanceof SyntaxError;
      const reason = isOutput ? "it printed no ExecCredential" : reasonOf(thrown);
      throw new ProviderError("AKP_KUBE_PLUGIN_FAILED", { command: plugin.command, path: identity.path, reason });
    }
  }

  return {
    async credential(): Promise<PluginStatus> {
      // Without an expiry it is kept until the server rejects it.
      const expiresAtMs = parseTime(kept?.expirationTimestamp ?? "9999-12-31T23:59:59Z");
      if (kept && clock.now() + kubeTokenMarginMs < expiresAtMs) return kept;
      // Shared: a second command could ask a person to log in twice.
      running ??= runCommand().finally(() => {
        running = undefined;
      });
      return running;
    },
    /** The server rejected the credential. */
    forget(): void {
      kept = undefined;
    },
  };
}

/** Returns what the command prints. */
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
  // A child of the command may outlive it and hold its pipes open, which the signal does not end.
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
