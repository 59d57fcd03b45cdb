import { describe, expect, test } from 'vitest';
import { readOtlpSettings } from '../../src/settings/otlp-settings.ts';
import { SettingsError } from '../../src/settings/settings-table.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const defaults = {
  url: 'http://collector:4318/v1/traces',
  headers: {},
  timeoutMs: 2000,
  attributes: {},
};

describe('traces go nowhere', () => {
  test.for([
    { name: 'where no endpoint is named', env: {} },
    { name: 'where the endpoint is empty', env: { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' } },
    { name: 'where OpenTelemetry is off', env: { ...endpoint, OTEL_SDK_DISABLED: 'True' } },
    { name: 'where nothing exports traces', env: { ...endpoint, OTEL_TRACES_EXPORTER: 'none' } },
    { name: 'be what else is said right or wrong', env: { OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' } },
  ])('$name', ({ env }) => {
    expect(readOtlpSettings(env)).toBeUndefined();
  });
});

describe('where traces go', () => {
  test.for<{ name: string; env: Record<string, string>; want: object }>([
    { name: 'is below the endpoint of all that there is', env: {}, want: {} },
    {
      name: 'is below the path of that endpoint',
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/' },
      want: { url: 'https://collector.example/otlp/v1/traces' },
    },
    {
      name: 'is below the path of that endpoint, whatever its query',
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp?tenant=a/b' },
      want: { url: 'https://collector.example/otlp/v1/traces?tenant=a/b' },
    },
    {
      name: 'is the very endpoint of traces, where that is named',
      env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces:4318/here' },
      want: { url: 'http://traces:4318/here' },
    },
    {
      name: 'is told with the headers for all and those for traces, which go first',
      env: {
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%3D, tenant = all ,',
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'tenant=traces',
      },
      want: { headers: { authorization: 'Bearer a=', tenant: 'traces' } },
    },
    {
      name: 'has its time',
      env: { OTEL_EXPORTER_OTLP_TIMEOUT: '3000', OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '500' },
      want: { timeoutMs: 500 },
    },
    {
      name: 'is told who this is',
      env: {
        OTEL_SERVICE_NAME: 'elections',
        OTEL_RESOURCE_ATTRIBUTES: 'service.name=x,k8s.cluster.name=a%2Cb',
      },
      want: { attributes: { 'service.name': 'elections', 'k8s.cluster.name': 'a,b' } },
    },
    {
      name: 'is spoken to as is the default',
      env: {
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_SDK_DISABLED: 'false',
      },
      want: {},
    },
  ])('$name', ({ env, want }) => {
    expect(readOtlpSettings({ ...endpoint, ...env })).toEqual({ ...defaults, ...want });
  });
});

describe('a problem', () => {
  const wrongUrl = 'is not the URL of an OTLP receiver; give e.g. http://collector:4318';
  test.for([
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', text: 'collector:4318', want: wrongUrl },
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', text: 'collector', want: wrongUrl },
    { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', text: 'grpc://collector:4317', want: wrongUrl },
    {
      name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
      text: 'grpc',
      want: 'is a protocol that is not spoken here; give http/protobuf, which is the default',
    },
    {
      name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
      text: '2s',
      want: 'is not a whole number of milliseconds up to 600000',
    },
    {
      name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
      text: '0',
      want: 'is not a whole number of milliseconds up to 600000',
    },
    {
      name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
      text: '600001',
      want: 'is not a whole number of milliseconds up to 600000',
    },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', text: '=a', want: 'is not a list like key=value,other=value' },
  ])('is told: $name is $text', ({ name, text, want }) => {
    expect(() => readOtlpSettings({ ...endpoint, [name]: text })).toThrow(
      new SettingsError([`${name}: "${text}" ${want}`]),
    );
  });

  test.for(['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'])(
    'of %s is told without what it says, which may be a secret',
    (name) => {
      const want = new SettingsError([`${name}: what it says is not a list like key=value,other=value`]);
      for (const text of ['secret', 'authorization=secret%']) {
        expect(() => readOtlpSettings({ ...endpoint, [name]: text })).toThrow(want);
      }
    },
  );

  test('is told with all others', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'x', OTEL_EXPORTER_OTLP_TIMEOUT: 'y' };
    expect(() => readOtlpSettings(env)).toThrow(/ENDPOINT: "x".*\n.*TIMEOUT: "y"/);
  });
});
