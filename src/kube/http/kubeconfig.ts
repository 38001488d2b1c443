/** Reads kubeconfig files as kubectl does, or the pod's service account. Unsupported features, such as impersonation, are rejected. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ProviderError, reasonOf, systemCodeOf } from "../../runtime/errors.ts";

/** A file, or text embedded in the kubeconfig. */
export type Material = { readonly file: string } | { readonly text: string };

export interface KubeIdentity {
  /** For messages. */
  readonly path: string;
  readonly server: URL;
  readonly serverName?: string | undefined;
  readonly skipVerify: boolean;
  readonly ca?: Material | undefined;
  readonly cert?: Material | undefined;
  readonly key?: Material | undefined;
  readonly token?: Material | undefined;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  readonly plugin?: Plugin | undefined;
}

const pluginShape = z.object({
  apiVersion: z.string().default("client.authentication.k8s.io/v1"),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  provideClusterInfo: z.boolean().default(false),
});
export type Plugin = z.infer<typeof pluginShape>;

const text = z.string().optional();
const clusterShape = z.object({
  server: z.url({ protocol: /^https?$/ }),
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": z.boolean().default(false),
  "tls-server-name": text,
  "proxy-url": text,
});
const userShape = z.object({
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  exec: pluginShape.nullish(),
  "auth-provider": z.unknown().optional(),
  as: z.unknown().optional(),
  "as-uid": z.unknown().optional(),
  "as-groups": z.unknown().optional(),
  "as-user-extra": z.unknown().optional(),
});
const fileShape = z.object({
  "current-context": text,
  clusters: z.array(z.object({ name: z.string(), cluster: z.unknown().optional() })).default([]),
  contexts: z
    .array(
      z.object({
        name: z.string(),
        context: z.object({ cluster: z.string().default(""), user: z.string().default("") }),
      }),
    )
    .default([]),
  users: z.array(z.object({ name: z.string(), user: z.unknown().optional() })).default([]),
});

export interface IdentityOptions {
  /** A kubeconfig, or several as in "a:b"; without one, the pod's service account, or else kubectl's own file. */
  readonly kubeconfig?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where a pod finds its service account. */
  readonly accountFolder?: string;
}

const podAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

export function readIdentity(options: IdentityOptions = {}): KubeIdentity {
  const { environment = {}, accountFolder = podAccount } = options;
  const host = podHost(options);
  if (host) return podIdentity(host, environment["KUBERNETES_SERVICE_PORT"] ?? "443", accountFolder);
  return fileIdentity(namedIn(options) || join(homedir(), ".kube", "config"));
}

/** The namespace of the pod whose service account is used; undefined with a kubeconfig. */
export function readPodNamespace(options: IdentityOptions = {}): string | undefined {
  const path = join(options.accountFolder ?? podAccount, "namespace");
  return podHost(options) && existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

const namedIn = ({ kubeconfig, environment }: IdentityOptions) => kubeconfig || environment?.["KUBECONFIG"];

/** Of the API server, where a pod's service account is used. */
function podHost(options: IdentityOptions): string | undefined {
  const hasAccount = !namedIn(options) && existsSync(join(options.accountFolder ?? podAccount, "token"));
  return hasAccount ? options.environment?.["KUBERNETES_SERVICE_HOST"] : undefined;
}

function podIdentity(host: string, port: string, folder: string): KubeIdentity {
  return {
    path: folder,
    server: new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    skipVerify: false,
    ca: { file: join(folder, "ca.crt") },
    token: { file: join(folder, "token") },
  };
}

function fileIdentity(path: string): KubeIdentity {
  const files = readFiles(path).map(({ file, content }) => {
    const { clusters, users, ...rest } = check(path, fileShape, content, "the file");
    // Paths are relative to the file that contains them.
    const from = <T extends object>(entries: readonly T[]) =>
      entries.map((entry) => ({ ...entry, folder: dirname(file) }));
    return { ...rest, clusters: from(clusters), users: from(users) };
  });
  const wanted = files.find((each) => each["current-context"])?.["current-context"];
  if (!wanted) throw unusable(path, "it names no current-context");
  // The first file that has an entry of this name counts; entries are not merged.
  const named = <T extends { name: string }>(what: string, name: string, entries: readonly T[]): T => {
    const found = entries.find((entry) => entry.name === name);
    if (!found) throw unusable(path, `it has no ${what} ${name}`);
    return found;
  };
  const contexts = files.flatMap((file) => file.contexts);
  const clusters = files.flatMap((file) => file.clusters);
  const users = files.flatMap((file) => file.users);
  const { context } = named("context", wanted, contexts);
  const { cluster, ...atCluster } = named("cluster", context.cluster, clusters);
  const { user = {}, ...atUser } = named("user", context.user, users);
  return { path, ...readCluster(path, cluster, atCluster), ...readUser(path, user, atUser) };
}

interface EntryAt {
  readonly name: string;
  readonly folder: string;
}

function readCluster(path: string, given: unknown, { name, folder }: EntryAt) {
  const cluster = check(path, clusterShape, given, `cluster ${name}`);
  if (cluster["proxy-url"]) throw unusable(path, `cluster ${name} has a proxy-url, which is not supported`);
  return {
    server: new URL(cluster.server),
    serverName: cluster["tls-server-name"],
    skipVerify: cluster["insecure-skip-tls-verify"],
    ca: material(folder, cluster["certificate-authority-data"], cluster["certificate-authority"]),
  };
}

function readUser(path: string, given: unknown, { name, folder }: EntryAt) {
  const user = check(path, userShape, given, `user ${name}`);
  if (user["auth-provider"]) throw unusable(path, `user ${name} has an auth-provider, which kubectl dropped; use exec`);
  const impersonation = (["as", "as-uid", "as-groups", "as-user-extra"] as const).find((field) => user[field]);
  // Ignoring it would use the greater rights of the impersonating user.
  if (impersonation)
    throw unusable(path, `user ${name} impersonates another user (${impersonation}), which is not supported`);
  return {
    cert: material(folder, user["client-certificate-data"], user["client-certificate"]),
    key: material(folder, user["client-key-data"], user["client-key"]),
    token: material(folder, undefined, user.tokenFile) ?? (user.token ? { text: user.token } : undefined),
    basic: user.username ? { username: user.username, password: user.password ?? "" } : undefined,
    plugin: user.exec ?? undefined,
  };
}

/** Embedded data goes before a file. */
function material(folder: string, base64: string | undefined, file: string | undefined): Material | undefined {
  if (base64) return { text: Buffer.from(base64, "base64").toString() };
  return file ? { file: resolve(folder, file) } : undefined;
}

function check<T>(path: string, shape: z.ZodType<T>, value: unknown, where: string): T {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw unusable(path, `${[where, ...(issue?.path ?? [])].join(".")}: ${issue?.message}`);
}

function unusable(path: string, reason: string, cause?: unknown): ProviderError {
  return new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason }, { cause });
}

/** Missing files are skipped, as long as one exists. */
function readFiles(path: string): { readonly file: string; readonly content: unknown }[] {
  const files = path.split(delimiter).flatMap((file) => {
    const source = file === "" ? undefined : readFile(file);
    return source === undefined ? [] : [{ file, content: readYaml(file, source) }];
  });
  if (files.length === 0) throw new ProviderError("AKP_KUBECONFIG_MISSING", { path, reason: "no such file" });
  return files;
}

/** Undefined where it does not exist. */
function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if (systemCodeOf(thrown) === "ENOENT") return undefined;
    throw unusable(path, reasonOf(thrown), thrown);
  }
}

function readYaml(path: string, source: string): unknown {
  try {
    // kubectl treats null as absent.
    return parse(source, (_, value) => value ?? undefined) ?? {};
  } catch {
    // The parser's message quotes lines of the file, which may hold a key.
    throw unusable(path, "it is not YAML");
  }
}
