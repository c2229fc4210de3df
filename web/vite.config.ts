/** Builds the web UI into `dist`: hashed names, relative links, and a nonce that the manager replaces in each page. */
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const api = process.env.SHUNTER_URL ?? "http://127.0.0.1:7070";
const token = process.env.SHUNTER_TOKEN;
const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};

export default defineConfig(({ command }) => ({
  base: command === "serve" ? "/ui/" : "./",
  html: command === "build" ? { cspNonce: "__CSP_NONCE__" } : {},
  plugins: [developmentBase(), buildVersion()],
  build: {
    target: "es2023",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    rolldownOptions: { onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning) },
  },
  css: { modules: { localsConvention: "camelCaseOnly" } },
  server: {
    proxy: {
      "/api": { target: api, headers },
      "/healthz": { target: api },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
}));

/** The manager adds `<base>` to the page that it serves; the development server does it here. */
function developmentBase(): Plugin {
  return {
    name: "development-base",
    apply: "serve",
    transformIndexHtml: () => [{ tag: "base", attrs: { href: "/ui/" }, injectTo: "head-prepend" }],
  };
}

/** `version.json` names the entry file, so that an open page notices that a newer build is served. */
function buildVersion(): Plugin {
  return {
    name: "build-version",
    apply: "build",
    generateBundle(_options, bundle) {
      const entry = Object.values(bundle).find((file) => file.type === "chunk" && file.isEntry);
      const source = JSON.stringify({ entry: entry?.fileName });
      this.emitFile({ type: "asset", fileName: "version.json", source });
    },
  };
}
