import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmaps from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as stats from '@grafana/grafana-foundation-sdk/stat';
import * as timelines from '@grafana/grafana-foundation-sdk/statetimeline';
import * as tables from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

/** A row of panels. */
export interface Row {
  readonly title: string;
  /** Collapsed at first. Grafana runs its queries when a user opens it. */
  readonly collapsed?: true;
  readonly panels: readonly Builder<dashboard.Panel>[];
}

/** A PromQL expression, and the legend of its series: text with `{{label}}`. */
export type Query = readonly [legend: string, expression: string];

/** The texts and thresholds of a panel. */
export interface PanelText {
  readonly title: string;
  readonly description: string;
  /** One of the SDK's `units`. */
  readonly unit: string;
  /** The values from which the panel is `orange` or `red`; below them it is green. */
  readonly thresholds?: Readonly<Partial<Record<'orange' | 'red', number>>>;
  /** The alert whose runbook says what to do if the value is bad. */
  readonly alert?: string;
}

/** Returns a reference to a variable of the dashboard or of Grafana. */
export function variable(name: string): string {
  return `\${${name}}`;
}

/** The data source that the user chooses at the top. */
export const source: common.DataSourceRef = { type: 'prometheus', uid: variable('datasource') };

/** Returns the address of an alert's runbook. `alert` may be a reference to a variable. */
export function runbookOf(alert: string): string {
  return `${variable('runbooks')}/${alert}.md`;
}

/** One number. */
export function stat(text: PanelText, expression: string): stats.PanelBuilder {
  return sized(text, new stats.PanelBuilder(), 4, 4)
    .withTarget(query(['', expression]).instant())
    .reduceOptions(last())
    .colorMode(common.BigValueColorMode.Background)
    .graphMode(common.BigValueGraphMode.None);
}

/** Shows the names of the series instead of their values. */
export function names(text: PanelText & { readonly none: string }, ...queries: readonly Query[]) {
  const builder = sized(text, new stats.PanelBuilder(), 4, 4)
    .reduceOptions(last())
    .textMode(common.BigValueTextMode.Name)
    .colorMode(common.BigValueColorMode.None)
    .graphMode(common.BigValueGraphMode.None)
    .noValue(text.none);
  return withQueries(builder, queries, (each) => query(each).instant());
}

/** Lines over time. */
export function lines(text: PanelText, ...queries: readonly Query[]): timeseries.PanelBuilder {
  const style = new common.GraphThresholdsStyleConfigBuilder().mode(
    text.thresholds ? common.GraphThresholdsStyleMode.Dashed : common.GraphThresholdsStyleMode.Off,
  );
  const builder = sized(text, new timeseries.PanelBuilder(), 8, 8)
    .min(0)
    .fillOpacity(10)
    .showPoints(common.VisibilityMode.Never)
    .thresholdsStyle(style)
    .legend(legend())
    .tooltip(tooltip());
  return withQueries(builder, queries, query);
}

/** Stacked areas. */
export function parts(text: PanelText, ...queries: readonly Query[]): timeseries.PanelBuilder {
  const stacking = new common.StackingConfigBuilder().mode(common.StackingMode.Normal);
  return lines(text, ...queries)
    .stacking(stacking)
    .fillOpacity(40);
}

/** A heatmap of a histogram's buckets over time. */
export function heatmap(text: PanelText, expression: string): heatmaps.PanelBuilder {
  const color = new heatmaps.HeatmapColorOptionsBuilder()
    .mode(heatmaps.HeatmapColorMode.Scheme)
    .scheme('Oranges')
    .steps(64);
  return sized(text, new heatmaps.PanelBuilder(), 8, 8)
    .withTarget(query(['{{le}}', expression]).format(PromQueryFormat.Heatmap))
    .calculate(false)
    .color(color)
    .yAxis(new heatmaps.YAxisConfigBuilder().unit(text.unit))
    .showLegend();
}

/** States over time. `states`: the names of the values 0, 1 and so on. */
export function timeline(
  text: PanelText & { readonly states: readonly (readonly [name: string, color: string])[] },
  [name, expression]: Query,
): timelines.PanelBuilder {
  const options = Object.fromEntries(
    text.states.map(([state, color], index) => [String(index), { text: state, color, index }]),
  );
  return sized(text, new timelines.PanelBuilder(), 12, 6)
    .withTarget(query([name, expression]))
    .mappings([{ type: dashboard.MappingType.ValueToText, options }])
    .mergeValues(true)
    .legend(legend());
}

/** A table with a row for each series and its labels as columns. The column `field` links to `url`. */
export function table(
  text: PanelText & { readonly none: string; readonly field: string; readonly url: string },
  expression: string,
): tables.PanelBuilder {
  const links = [{ title: 'Runbook', url: text.url, targetBlank: true }];
  return sized(text, new tables.PanelBuilder(), 12, 7)
    .withTarget(query(['', expression]).instant().format(PromQueryFormat.Table))
    .withTransformation({
      id: 'organize',
      options: { excludeByName: { Time: true, Value: true } },
    })
    .overrideByName(text.field, [{ id: 'links', value: links }])
    .noValue(text.none);
}

/** Sets the size, and the options that all kinds of panels share. */
interface CommonBuilder extends Builder<dashboard.Panel> {
  title(title: string): this;
  description(description: string): this;
  unit(unit: string): this;
  datasource(ref: common.DataSourceRef): this;
  span(width: number): this;
  height(height: number): this;
  thresholds(thresholds: Builder<dashboard.ThresholdsConfig>): this;
  links(links: Builder<dashboard.DashboardLink>[]): this;
  withTarget(target: Builder<{ _implementsDataqueryVariant(): void }>): this;
}

function sized<B extends CommonBuilder>(text: PanelText, builder: B, width: number, height: number): B {
  const { orange, red } = text.thresholds ?? {};
  const steps: dashboard.Threshold[] = [
    { value: null, color: 'green' },
    ...(orange === undefined ? [] : [{ value: orange, color: 'orange' }]),
    ...(red === undefined ? [] : [{ value: red, color: 'red' }]),
  ];
  const thresholds = new dashboard.ThresholdsConfigBuilder()
    .mode(dashboard.ThresholdsMode.Absolute)
    .steps(steps);
  builder
    .title(text.title)
    .description(text.description)
    .unit(text.unit)
    .datasource(source)
    .span(width)
    .height(height)
    .thresholds(thresholds);
  return text.alert === undefined ? builder : builder.links([runbookLink(text.alert)]);
}

function withQueries<B extends CommonBuilder>(
  builder: B,
  queries: readonly Query[],
  make: (query: Query) => DataqueryBuilder,
): B {
  for (const [index, each] of queries.entries()) {
    builder.withTarget(make(each).refId(String.fromCodePoint(65 + index)));
  }
  return builder;
}

function query([name, expression]: Query): DataqueryBuilder {
  const made = new DataqueryBuilder().refId('A').datasource(source).expr(expression).range();
  return name === '' ? made : made.legendFormat(name);
}

function runbookLink(alert: string): dashboard.DashboardLinkBuilder {
  return new dashboard.DashboardLinkBuilder(`Runbook: ${alert}`)
    .type(dashboard.DashboardLinkType.Link)
    .url(runbookOf(alert))
    .targetBlank(true);
}

function last(): common.ReduceDataOptionsBuilder {
  return new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']);
}

function legend(): common.VizLegendOptionsBuilder {
  return new common.VizLegendOptionsBuilder()
    .showLegend(true)
    .displayMode(common.LegendDisplayMode.List)
    .placement(common.LegendPlacement.Bottom);
}

function tooltip(): common.VizTooltipOptionsBuilder {
  return new common.VizTooltipOptionsBuilder()
    .mode(common.TooltipDisplayMode.Multi)
    .sort(common.SortOrder.Descending);
}
