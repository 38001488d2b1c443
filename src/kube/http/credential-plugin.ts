/** Runs a command that knows how to log in (client.authentication.k8s.io), and keeps what it said until it expires. */
import { spawn } from "node:child_process";
import { z } from "zod";
import { type Clock, formatTime } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Identity, Plugin } from "./kubeconfig.ts";

export interface PluginCredential {
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
      if (kept && !isPast(kept.expires, clock.now() + limits.kubeTokenMarginMs)) return kept.credential;
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
function run(identity: Identity, plugin: Plugin, clock: Clock, signal: AbortSignal): Promise<string> {
  const { apiVersion, command, args, env } = plugin;
  const spec = { interactive: false, ...(plugin.provideClusterInfo ? { cluster: clusterInfo(identity) } : {}) };
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
  return new Promise((resolve, reject) => {
    const child = spawn(command, args ?? [], {
      env: { ...process.env, ...own, KUBERNETES_EXEC_INFO: info },
      stdio: ["ignore", "pipe", "pipe"],
      signal,
      killSignal: "SIGKILL",
    });
    const output = { stdout: "", stderr: "" };
    /** What it started itself may live on and hold the pipes; that must not hold us. */
    const letGo = () => {
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const fail = (reason: string) => {
      child.kill("SIGKILL");
      letGo();
      reject(new Error(reason));
    };
    const timer = clock.timer(limits.kubePluginMs, () => fail(`no answer within ${limits.kubePluginMs} ms`));
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
        if (output[name].length > limits.kubePluginBytes) fail(`more than ${limits.kubePluginBytes} bytes`);
      });
    }
    child.on("error", (thrown) => {
      timer.cancel();
      letGo();
      reject(thrown);
    });
    child.on("close", (code) => {
      timer.cancel();
      if (code === 0) resolve(output.stdout);
      else reject(new Error(`exit code ${code}: ${output.stderr.trim().slice(0, 500)}`));
    });
  });
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
