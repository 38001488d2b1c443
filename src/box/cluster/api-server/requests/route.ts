/** What an address of the API means. */
export interface Route {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** What comes after the object: "status", "log", "proxy/a/b". */
  readonly below: string | undefined;
}

/** A namespace is an object itself, and these are addresses of it, not of what is in it. */
const ofNamespaces = new Set(["status", "finalize"]);

export function readRoute(path: string): Route | undefined {
  const [, root, ...rest] = path.split("/");
  const [group, version, ...parts] = root === "api" ? ["", ...rest] : rest;
  if ((root !== "api" && root !== "apis") || group === undefined || version === undefined) return undefined;
  const [first, second, third] = parts;
  const isScoped = first === "namespaces" && second !== undefined && third !== undefined && !ofNamespaces.has(third);
  const [plural, name, ...below] = isScoped ? parts.slice(2) : parts;
  if (plural === undefined || plural === "") return undefined;
  return {
    group,
    version,
    plural,
    namespace: isScoped ? decodeURIComponent(second) : undefined,
    name: name === undefined || name === "" ? undefined : decodeURIComponent(name),
    below: below.length === 0 ? undefined : below.join("/"),
  };
}
