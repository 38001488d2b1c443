/** Runs a command that knows how to log in (client.authentication.k8s.io), and keeps what it said until it expires. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";
import { type Clock, formatTime } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Identity, Plugin } from "./kubeconfig.ts";

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

export interface CredentialPlugin {
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
  identity: Identity,
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
async function run(identity: Identity, plugin: Plugin, clock: Clock, signal: AbortSignal): Promise<string> {
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

function clusterInfo({ server, serverName, skipVerify, ca }: Identity): Record<string, unknown> {
  const authority = ca && "text" in ca ? { "certificate-authority-data": Buffer.from(ca.text).toString("base64") } : {};
  return {
    server: server.href,
    ...authority,
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
    ...(skipVerify ? { "insecure-skip-tls-verify": true } : {}),
  };
}
