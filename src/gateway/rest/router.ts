/** Finds the route of a request. Paths are compared piece by piece; a known path with another verb is told apart. */
import type { Route } from "./route.ts";

export type Found =
  | { readonly kind: "route"; readonly route: Route; readonly names: Readonly<Record<string, string>> }
  | { readonly kind: "unknown" }
  | { readonly kind: "otherVerb" };

interface Compiled {
  readonly route: Route;
  readonly pieces: readonly string[];
}

export function createRouter(routes: readonly Route[]): (method: string, path: string) => Found {
  const compiled = routes.map((route): Compiled => ({ route, pieces: route.path.split("/") }));

  return (method, path) => {
    const pieces = path.split("/");
    const samePath = compiled.filter((each) => matches(each.pieces, pieces));
    const found = samePath.find(({ route }) => route.method === method);
    if (found) return { kind: "route", route: found.route, names: namesIn(found.pieces, pieces) };
    return { kind: samePath.length > 0 ? "otherVerb" : "unknown" };
  };
}

function matches(wanted: readonly string[], pieces: readonly string[]): boolean {
  return wanted.length === pieces.length && wanted.every((want, index) => isName(want) || want === pieces[index]);
}

function namesIn(wanted: readonly string[], pieces: readonly string[]): Record<string, string> {
  const named = wanted.flatMap((want, index) => (isName(want) ? [[want.slice(1, -1), pieces[index] ?? ""]] : []));
  return Object.fromEntries(named);
}

function isName(piece: string): boolean {
  return piece.startsWith("{");
}
