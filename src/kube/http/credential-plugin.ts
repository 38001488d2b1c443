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
    expirationTimestamp: z.string().optional(),
  }),
});

export function createCredentialPlugin(identity: Identity, plugin: Plugin, clock: Clock): CredentialPlugin {
  let current: Promise<PluginCredential> | undefined;
  let expires: string | undefined;

  async function ask(): Promise<PluginCredential> {
    try {
      const { status } = answerShape.parse(JSON.parse(await run(identity, plugin, clock)));
      expires = status.expirationTimestamp;
      return { token: status.token, cert: status.clientCertificateData, key: status.clientKeyData };
    } catch (thrown) {
      current = undefined;
      const told = thrown instanceof z.ZodError || thrown instanceof SyntaxError;
      const reason = told ? "it printed no ExecCredential" : reasonOf(thrown);
      throw new ProviderError("AKP_KUBE_PLUGIN_FAILED", { command: plugin.command, path: identity.path, reason });
    }
  }

  /** Both are in UTC, down to the second, so texts compare as times do. */
  function hasExpired(): boolean {
    return !!expires && formatTime(clock.now() + limits.kubeTokenMarginMs).slice(0, 19) >= expires.slice(0, 19);
  }

  return {
    credential() {
      if (hasExpired()) current = undefined;
      current ??= ask();
      return current;
    },
    forget() {
      current = undefined;
    },
  };
}

/** What the command prints. */
function run(identity: Identity, plugin: Plugin, clock: Clock): Promise<string> {
  const { apiVersion, command, args, env } = plugin;
  const spec = { interactive: false, ...(plugin.provideClusterInfo ? { cluster: clusterInfo(identity) } : {}) };
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
  return new Promise((resolve, reject) => {
    const child = spawn(command, args ?? [], {
      env: { ...process.env, ...own, KUBERNETES_EXEC_INFO: info },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    const fail = (reason: string) => {
      child.kill("SIGKILL");
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
