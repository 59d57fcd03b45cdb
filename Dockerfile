# The coordinator, with the Node that package-lock.json names and nothing else: no shell, no package manager.
# Give the bases by digest to have a build that can be repeated: --build-arg RUNTIME_IMAGE=<image>@sha256:<digest>.
# Both stages run on the platform that the image is for: linux/amd64 and linux/arm64.

# With npm and a shell.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim
# With the C and C++ libraries that Node needs.
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian12:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build
# Types, source maps, documentation and addons for the Bare runtime are more than half of what the dependencies weigh.
# Licences stay, those of Node among them: they allow copies only together with their text.
RUN cp node_modules/node/bin/node ./node \
  && cp node_modules/node/node_modules/node-linux-*/LICENSE ./node-license \
  && npm prune --omit=dev --no-audit --no-fund \
  && find node_modules -type f \
    \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.md' -o -name '*.bare' \) \
    ! -iname 'licen[cs]e*' -delete \
  && find dist -type f -name '*.d.ts' -delete

FROM ${RUNTIME_IMAGE}
ARG VERSION=0.1.0
ARG REVISION
LABEL org.opencontainers.image.title="coordinated-leader-election" \
  org.opencontainers.image.description="A coordinated-leader-election controller for Kubernetes" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.source="https://github.com/coordinated-leader-election/coordinated-leader-election" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
COPY --from=build /build/node /usr/local/bin/node
COPY --from=build /build/node-license /usr/local/share/doc/node/LICENSE
COPY LICENSE /app/LICENSE
COPY --from=build /build/package.json /app/package.json
COPY --from=build /build/node_modules /app/node_modules
COPY --from=build /build/dist /app/dist
# The embedded API server reads it.
COPY deploy/crd.yaml /app/deploy/crd.yaml
# By default, glibc has up to eight heaps for memory outside of V8's on each CPU, and each keeps what was freed in it; and V8's space for
# new objects grows to 134 MB while thousands of objects are listed, and never shrinks.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 NODE_OPTIONS=--max-semi-space-size=4 PATH=/usr/local/bin:/usr/bin:/bin
# By number: Kubernetes cannot tell of a name that it is not root.
USER 65532:65532
# Node is process 1 and gets the signals itself.
ENTRYPOINT ["/usr/local/bin/node", "/app/dist/main.js"]
