/** Collected into the page's style by the bundler. */
declare module "*.css" {}
