import { type Alias, type Document, isAlias, isMap, isNode, isPair, isSeq } from 'yaml';

type Target = ReturnType<Alias['resolve']>;

/** Up to so many nodes nearly all may come of aliases; above, ever fewer of them. */
const LOW = 400_000;
const HIGH = 4_000_000;

/**
 * What the reader of Kubernetes does not take of aliases, by which little text stands for much; undefined: nothing. It counts
 * each node as often as it is written or stands for. From then on each alias knows what it stands for: by itself it would
 * look for that in the whole document, every time.
 */
export function aliasProblem(document: Document): string | undefined {
  const anchors = new Map<string, Target>();
  const within = new Set<unknown>();
  let nodes = 0;
  let aliased = 0;
  let depth = 0;

  function visit(node: unknown): string | undefined {
    nodes += 1;
    if (depth > 0) aliased += 1;
    if (aliased > 100 && nodes > 1000 && aliased / nodes > mostAliased(nodes)) {
      return 'document contains excessive aliasing';
    }
    if (isAlias(node)) return visitAlias(node);
    if (depth === 0 && isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, node as Target);
    if (isPair(node)) return visit(node.key) ?? visit(node.value);
    if (!isMap(node) && !isSeq(node)) return undefined;
    for (const item of node.items) {
      const problem = visit(item);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  function visitAlias(alias: Alias): string | undefined {
    const anchor = alias.source;
    if (depth === 0) {
      const found = anchors.get(anchor);
      alias.resolve = () => found;
    }
    const target = alias.resolve(document);
    if (target === undefined) return `unknown anchor '${anchor}' referenced`;
    if (within.has(target)) return `anchor '${anchor}' value contains itself`;
    within.add(target);
    depth += 1;
    const problem = visit(target);
    depth -= 1;
    within.delete(target);
    return problem;
  }

  return visit(document.contents);
}

function mostAliased(nodes: number): number {
  if (nodes <= LOW) return 0.99;
  return nodes >= HIGH ? 0.1 : 0.99 - 0.89 * ((nodes - LOW) / (HIGH - LOW));
}
