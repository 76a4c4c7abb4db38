import { nodeListener } from "@pgque/dashboard";
import express from "express";
import { dashboard } from "./dashboard.ts";

const app = express();
// before any parser of bodies
app.all(["/admin/queues", "/admin/queues/*path"], nodeListener(dashboard));
app.use(express.urlencoded({ extended: false }));
app.get("/", (_request, response) => response.send("the application"));

app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
