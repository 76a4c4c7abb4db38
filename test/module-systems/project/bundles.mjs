// main.ts with everything that it imports in one file, by each bundler as it is documented for Node.
import path from "node:path";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import webpack from "webpack";

const entry = path.resolve("main.ts");
const outdir = path.resolve("bundles");

await esbuild({ entryPoints: [entry], bundle: true, platform: "node", outfile: `${outdir}/esbuild.cjs` });

await vite({
  logLevel: "error",
  ssr: { noExternal: true },
  build: { ssr: entry, outDir: `${outdir}/vite`, rollupOptions: { output: { entryFileNames: "main.mjs" } } },
});

const stats = await new Promise((resolve, reject) => {
  const config = {
    mode: "production",
    target: "node",
    entry,
    output: { path: outdir, filename: "webpack.cjs" },
    resolve: { extensions: [".ts", ".js"] },
    module: { rules: [{ test: /\.ts$/, loader: "ts-loader", options: { transpileOnly: true } }] },
    externals: { "pg-native": "commonjs pg-native" },
  };
  webpack(config, (error, result) => (error ? reject(error) : resolve(result)));
});
if (stats.hasErrors()) throw new Error(stats.toString());
