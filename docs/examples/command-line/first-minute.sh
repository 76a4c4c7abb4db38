checkout=$PWD && npm run --silent pack
mkdir ../first-minute && cd ../first-minute
npm init -y && npm pkg set type=module
npm install "$checkout"/results/packages/*.tgz zod
cp "$checkout"/docs/examples/first-minute.ts .
npx pgque dev node first-minute.ts          # with a PostgreSQL of its own; Ctrl-C ends both
