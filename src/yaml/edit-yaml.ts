/** Edits the nodes of a YAML document. New nodes take the position of the node they replace, so that problems keep their lines. */
import { isMap, isNode, isScalar, isSeq, type Node, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { isJsonObject, type Json } from "../std/json.ts";

export type { Node } from "yaml";
export { isMap, isScalar, isSeq, Scalar, YAMLMap, YAMLSeq } from "yaml";

export function keyText(pair: Pair): string {
  return String(isScalar(pair.key) ? pair.key.value : pair.key);
}

export function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => keyText(pair) === key);
}

export function has(map: YAMLMap, key: string): boolean {
  return pairOf(map, key) !== undefined;
}

/** Returns the value of a key. An empty value has no node. */
export function nodeAt(map: YAMLMap, key: string): Node | undefined {
  const value = pairOf(map, key)?.value;
  return isNode(value) ? value : undefined;
}

/** Returns the value if it is a scalar: a text, a number, true, false or null. */
export function plainOf(map: YAMLMap, key: string): unknown {
  const value = nodeAt(map, key);
  return isScalar(value) ? value.value : undefined;
}

/** Removes a key and returns its value. */
export function take(map: YAMLMap, key: string): Node | undefined {
  const value = nodeAt(map, key);
  map.items = map.items.filter((pair) => keyText(pair) !== key);
  return value;
}

/** Renames a key in its place. Does nothing if the key is missing or the new one exists. */
export function rename(map: YAMLMap, key: string, to: string): boolean {
  const pair = pairOf(map, key);
  if (pair === undefined || has(map, to)) return false;
  if (isScalar(pair.key)) pair.key.value = to;
  else pair.key = scalar(to);
  return true;
}

export type Content = Node | string | number | boolean | null;

/** Sets a key: in its place if it exists, at the end otherwise. */
export function put(map: YAMLMap, key: string, content: Content, at?: Node): void {
  const value = nodeOf(content, at);
  const pair = pairOf(map, key);
  if (pair) pair.value = value;
  else map.items.push(new Pair(scalar(key, at), value));
}

export function scalar(value: string | number | boolean | null, at?: Node): Scalar {
  return positioned(new Scalar(value), at);
}

export function mapOf(at: Node | undefined, entries: Readonly<Record<string, Content | undefined>>): YAMLMap {
  const map = positioned(new YAMLMap(), at);
  for (const [key, content] of Object.entries(entries))
    if (content !== undefined) map.items.push(new Pair(scalar(key, at), nodeOf(content, at)));
  return map;
}

export function listOf(at: Node | undefined, contents: readonly Content[]): YAMLSeq {
  const list = positioned(new YAMLSeq(), at);
  list.items = contents.map((content) => nodeOf(content, at));
  return list;
}

/** Returns the value as a node. */
export function nodeFrom(value: Json, at?: Node): Node {
  if (Array.isArray(value))
    return listOf(
      at,
      value.map((one) => nodeFrom(one, at)),
    );
  if (!isJsonObject(value)) return scalar(value as string | number | boolean | null, at);
  const entries = Object.entries(value).map(([key, one]) => [key, nodeFrom(one, at)]);
  return mapOf(at, Object.fromEntries(entries));
}

/** Returns the nodes of a list, or the node itself. */
export function nodesOf(node: Node | undefined): readonly Node[] {
  if (node === undefined) return [];
  return isSeq(node) ? node.items.filter((item) => isNode(item)) : [node];
}

export function mapsOf(node: Node | undefined): readonly YAMLMap[] {
  return nodesOf(node).filter((one) => isMap(one));
}

export function textsOf(node: Node | undefined): readonly Scalar<string>[] {
  return nodesOf(node).filter((one): one is Scalar<string> => isScalar(one) && typeof one.value === "string");
}

function nodeOf(content: Content, at: Node | undefined): Node {
  return isNode(content) ? content : scalar(content, at);
}

function positioned<T extends Node>(node: T, at: Node | undefined): T {
  if (at?.range) node.range = at.range;
  return node;
}
