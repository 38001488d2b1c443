/**
 * Reads who we are and where the API is: kubeconfig files, or the service account of the pod. As kubectl of today reads
 * them; what it dropped, and what we do not do (acting as somebody else), is refused in words.
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ProviderError, reasonOf, systemCodeOf } from "../../runtime/errors.ts";

/** A file, or the text that stands in the kubeconfig itself. */
export type Material = { readonly file: string } | { readonly text: string };

export interface Identity {
  /** Where it was read, for messages. */
  readonly path: string;
  readonly server: URL;
  readonly namespace: string;
  readonly serverName: string | undefined;
  readonly skipVerify: boolean;
  readonly ca: Material | undefined;
  readonly cert: Material | undefined;
  readonly key: Material | undefined;
  readonly token: Material | undefined;
  readonly basic: { readonly username: string; readonly password: string } | undefined;
  readonly plugin: Plugin | undefined;
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
        context: z.object({ cluster: z.string().default(""), user: z.string().default(""), namespace: text }),
      }),
    )
    .default([]),
  users: z.array(z.object({ name: z.string(), user: z.unknown().optional() })).default([]),
});

export interface IdentityOptions {
  /** A kubeconfig, or several as in "a:b"; without one, the pod's service account, or else kubectl's own file. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where a pod finds its service account. */
  readonly accountFolder?: string;
}

const podAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

export function readIdentity(options: IdentityOptions = {}): Identity {
  const { environment = {}, accountFolder = podAccount } = options;
  const host = environment["KUBERNETES_SERVICE_HOST"];
  const named = options.kubeconfig || environment["KUBECONFIG"];
  if (!named && host && existsSync(join(accountFolder, "token"))) {
    return podIdentity(host, environment["KUBERNETES_SERVICE_PORT"] ?? "443", accountFolder);
  }
  return fileIdentity(named || join(homedir(), ".kube", "config"), options.context);
}

function podIdentity(host: string, port: string, folder: string): Identity {
  const namespaceFile = join(folder, "namespace");
  return {
    path: folder,
    server: new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    namespace: existsSync(namespaceFile) ? readFileSync(namespaceFile, "utf8").trim() : "default",
    serverName: undefined,
    skipVerify: false,
    ca: { file: join(folder, "ca.crt") },
    cert: undefined,
    key: undefined,
    token: { file: join(folder, "token") },
    basic: undefined,
    plugin: undefined,
  };
}

function fileIdentity(path: string, contextName: string | undefined): Identity {
  const unusable = (reason: string) => new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason });
  const check = <T>(shape: z.ZodType<T>, value: unknown, where: string): T => {
    const result = shape.safeParse(value);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    throw unusable(`${[where, ...(issue?.path ?? [])].join(".")}: ${issue?.message}`);
  };
  const files = readFiles(path).map(({ file, content }) => {
    const { clusters, users, ...rest } = check(fileShape, content, "the file");
    // What they name is relative to the file that names it, as kubectl has it.
    const folder = dirname(file);
    const from = <T extends object>(entries: readonly T[]) => entries.map((entry) => ({ ...entry, folder }));
    return { ...rest, clusters: from(clusters), users: from(users) };
  });
  const wanted = contextName ?? files.find((each) => each["current-context"])?.["current-context"];
  if (!wanted) throw unusable("it names no current-context");
  // The first file that has a context, a cluster or a user of this name tells all of it; none adds to it.
  const context = files.flatMap(({ contexts }) => contexts).find(({ name }) => name === wanted)?.context;
  if (!context) throw unusable(`it has no context ${wanted}`);
  const cluster = files.flatMap(({ clusters }) => clusters).find(({ name }) => name === context.cluster);
  if (!cluster) throw unusable(`it has no cluster ${context.cluster}`);
  const user = files.flatMap(({ users }) => users).find(({ name }) => name === context.user);
  if (!user) throw unusable(`it has no user ${context.user}`);
  const at = check(clusterShape, cluster.cluster, `cluster ${cluster.name}`);
  const who = check(userShape, user.user ?? {}, `user ${user.name}`);
  if (who["auth-provider"]) throw unusable(`user ${user.name} has an auth-provider, which kubectl dropped; use exec`);
  const impersonation = (["as", "as-uid", "as-groups", "as-user-extra"] as const).find((name) => who[name]);
  // Left out in silence, we would act with the rights of the one who may impersonate, which are more.
  if (impersonation)
    throw unusable(`user ${user.name} acts as somebody else (${impersonation}), which is not supported`);
  if (at["proxy-url"]) throw unusable(`cluster ${cluster.name} has a proxy-url, which is not supported`);
  // Embedded data goes before files.
  const file = (folder: string, name: string | undefined): Material | undefined =>
    name ? { file: resolve(folder, name) } : undefined;
  const data = (base64: string | undefined): Material | undefined =>
    base64 ? { text: Buffer.from(base64, "base64").toString() } : undefined;
  return {
    path,
    server: new URL(at.server),
    namespace: context.namespace ?? "default",
    serverName: at["tls-server-name"],
    skipVerify: at["insecure-skip-tls-verify"],
    ca: data(at["certificate-authority-data"]) ?? file(cluster.folder, at["certificate-authority"]),
    cert: data(who["client-certificate-data"]) ?? file(user.folder, who["client-certificate"]),
    key: data(who["client-key-data"]) ?? file(user.folder, who["client-key"]),
    token: file(user.folder, who.tokenFile) ?? (who.token ? { text: who.token } : undefined),
    basic: who.username ? { username: who.username, password: who.password ?? "" } : undefined,
    plugin: who.exec ?? undefined,
  };
}

/** Of several, those that are not there do not matter, as long as one is. */
function readFiles(path: string): { readonly file: string; readonly content: unknown }[] {
  const files = path.split(delimiter).flatMap((file) => {
    const source = file === "" ? undefined : readFile(file);
    return source === undefined ? [] : [{ file, content: readYaml(file, source) }];
  });
  // Said in full already: a stack below it, once for every watch, would only hide it.
  if (files.length === 0) throw new ProviderError("AKP_KUBECONFIG_MISSING", { path, reason: "no such file" });
  return files;
}

/** Undefined when it is not there. */
function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if (systemCodeOf(thrown) === "ENOENT") return undefined;
    throw new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

function readYaml(path: string, source: string): unknown {
  try {
    // To Go, and so to kubectl, what is null is not there.
    return parse(source, (_, value) => value ?? undefined) ?? {};
  } catch {
    // The parser's own words quote the lines around the fault, and those may hold a key.
    throw new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason: "it is not YAML" });
  }
}
