/** Finds the route of a path. A known path with another verb is told apart, except below /lease, as the network has it. */
import type { Route } from "./route.ts";

export type Found =
  | { readonly kind: "route"; readonly route: Route; readonly names: Readonly<Record<string, string>> }
  | { readonly kind: "unknown" }
  | { readonly kind: "otherVerb" };

interface Pattern {
  readonly pieces: readonly string[];
  readonly routes: Map<string, Route>;
}

const [unknown, otherVerb] = [{ kind: "unknown" }, { kind: "otherVerb" }] as const;
const anyVerb = "*";
const noNames: Readonly<Record<string, string>> = {};

export function createRouter(routes: readonly Route[]): (method: string, path: string) => Found {
  const plain = new Map<string, Map<string, Route>>();
  const patterns = new Map<string, Pattern>();
  for (const route of routes) {
    const { path, method } = route;
    if (!path.includes("{")) {
      const verbs = plain.get(path) ?? new Map<string, Route>();
      plain.set(path, verbs.set(method, route));
    } else {
      const pattern = patterns.get(path) ?? { pieces: path.split("/"), routes: new Map() };
      pattern.routes.set("anyVerb" in route ? anyVerb : method, route);
      patterns.set(path, pattern);
    }
  }
  const compiled = [...patterns.values()];

  return (method, path) => {
    const verbs = plain.get(path);
    if (verbs) return found(verbs.get(method), noNames, path);
    const pieces = path.split("/");
    for (const pattern of compiled) {
      if (matches(pattern.pieces, pieces)) {
        return found(pattern.routes.get(method) ?? pattern.routes.get(anyVerb), namesIn(pattern.pieces, pieces), path);
      }
    }
    return unknown;
  };
}

function found(route: Route | undefined, names: Readonly<Record<string, string>>, path: string): Found {
  if (route) return { kind: "route", route, names };
  return path.startsWith("/lease/") ? unknown : otherVerb;
}

function matches(wanted: readonly string[], pieces: readonly string[]): boolean {
  if (wanted.length !== pieces.length) return false;
  for (const [index, want] of wanted.entries()) {
    const piece = pieces[index];
    if (isName(want) ? piece === "" : want !== piece) return false;
  }
  return true;
}

function namesIn(wanted: readonly string[], pieces: readonly string[]): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [index, want] of wanted.entries()) {
    if (isName(want)) names[want.slice(1, -1)] = pieces[index] ?? "";
  }
  return names;
}

function isName(piece: string): boolean {
  return piece.startsWith("{");
}
