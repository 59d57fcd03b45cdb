import { describe, expect, test } from 'vitest';
import type { ContenderName } from './contender.ts';
import type { CrowdedLease } from './crowded-lease.ts';
import type { Figures } from './figures.ts';
import type { FirstStart } from './first-start.ts';
import { toMarkdown } from './table.ts';

function figuresOf(contender: ContenderName, measured: Partial<Figures>): Figures {
  return {
    contender,
    firstElections: [],
    handOvers: [],
    firstStarts: [],
    massDeaths: [],
    crowdedLeases: [],
    ...measured,
  };
}

function cellsOf(table: string, what: RegExp): readonly string[] {
  const row = table.split('\n').find((line) => what.test(line)) ?? '';
  return row
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim());
}

describe('the table of figures', () => {
  test('has a column for each contender and a row for each figure of each run', () => {
    const built = figuresOf('built-in', { firstElections: [{ leases: 2, waits: [10, 20] }] });
    const ours = figuresOf('this controller', { firstElections: [{ leases: 2, waits: [1, 2_000] }] });
    expect(toMarkdown([built, ours]).split('\n')).toEqual([
      '| what | built-in | this controller |',
      '| --- | --- | --- |',
      '| first election, 2 Leases x 3 candidates created at once | p50 10 ms, p99 20 ms, max 20 ms | p50 1 ms, p99 2.0 s, max 2.0 s |',
    ]);
  });

  test('says how many Leases were never led', () => {
    const firstStart: FirstStart = {
      leases: 3,
      candidates: 5,
      untilBestLeads: [1_500, Number.POSITIVE_INFINITY, 1_000],
      writes: [1, 4, 1],
      yields: [0, 1, 0],
      overlaps: [],
    };
    const table = toMarkdown([figuresOf('built-in', { firstStarts: [firstStart] })]);
    expect(cellsOf(table, /until the best one leads/)).toEqual([
      'p50 1.5 s, p99 never, max never; 1 of 3 never',
    ]);
    expect(cellsOf(table, /writes to a Lease/)).toEqual(['mean 2.0, max 4']);
    expect(cellsOf(table, /told to yield/)).toEqual(['mean 0.3, max 1']);
  });

  test('puts what a crowded Lease costs below what the same Leases cost by themselves', () => {
    const releases = {
      waits: [5],
      usage: { maxRssBytes: 2 ** 30, cpus: 0.5 },
      logged: { lines: 2, bytes: 500 },
      callsPerSecond: 7,
    };
    const crowded: CrowdedLease = {
      silent: 3_000,
      others: 200,
      alone: releases,
      beside: { ...releases, usage: { maxRssBytes: 2 ** 31, cpus: 1.25 } },
    };
    const rows = toMarkdown([figuresOf('built-in', { crowdedLeases: [crowded] })]).split('\n');
    expect(rows.filter((row) => /memory|CPUs/.test(row))).toEqual([
      '| ... memory (RSS) of the coordinator’s process, 200 Leases x 3 candidates by themselves | 1024 MiB |',
      '| ... memory (RSS) of the coordinator’s process, 200 Leases x 3 candidates beside a Lease with 3000 silent candidates | 2048 MiB |',
      '| ... CPUs that it keeps busy, 200 Leases x 3 candidates by themselves | 0.50 |',
      '| ... CPUs that it keeps busy, 200 Leases x 3 candidates beside a Lease with 3000 silent candidates | 1.25 |',
    ]);
  });
});
