/** Pages of a list, cut as CometBFT cuts them. */
import { NodeRefusal } from "../node-refusal.ts";

const usualPerPage = 30;
const mostPerPage = 100;

export function perPageOf(wanted: number | undefined): number {
  return wanted === undefined || wanted < 1 ? usualPerPage : Math.min(wanted, mostPerPage);
}

export function pageOf<T>(all: readonly T[], page: number | undefined, perPage: number | undefined): T[] {
  const size = perPageOf(perPage);
  const pages = Math.max(1, Math.ceil(all.length / size));
  const number = page ?? 1;
  if (number < 1 || number > pages) {
    throw new NodeRefusal(`page should be within [1, ${pages}] range, given ${number}`);
  }
  return all.slice((number - 1) * size, number * size);
}

export function ordered<T>(ascending: readonly T[], order: string, usual: "asc" | "desc"): readonly T[] {
  const wanted = order || usual;
  if (wanted !== "asc" && wanted !== "desc") {
    throw new NodeRefusal("expected order_by to be either `asc` or `desc` or empty");
  }
  return wanted === "asc" ? ascending : ascending.toReversed();
}
