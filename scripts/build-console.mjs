/** Builds the console into a folder: one page, its styles, and scripts that are loaded when a page needs them. */
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { build } from "vite";

export async function buildConsole(outDir) {
  // Test runners set another value, with which Vite bundles the development build of React.
  process.env.NODE_ENV = "production";
  await build({
    configFile: false,
    root: "src/console",
    // Relative addresses: the server writes the base path of the console into the page.
    base: "./",
    logLevel: "error",
    plugins: [react(), tailwind()],
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      // Inline modules would need an exception in the content security policy.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
    },
  });
}
