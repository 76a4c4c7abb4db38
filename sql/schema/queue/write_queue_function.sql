-- Writes a function of one queue. It runs with the owner's rights and without the schema in its search_path, and nobody may call it until that is
-- granted. settings: more of them, a line each; body: from declare or begin to end.
create function write_queue_function(name text, arguments text, result text, settings text, body text) returns void
language plpgsql
set search_path from current
-- the first call parses the body, so that creating a queue need not
set check_function_bodies = off
as $generate$
begin
  execute render($ddl$
create or replace function {schema}.${name:I}(${arguments}) returns ${result}
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
${settings}
as ${body:L};
revoke all on function {schema}.${name:I}(${arguments}) from public
  $ddl$, jsonb_build_object(
    'name', name, 'arguments', arguments, 'result', result, 'settings', ltrim(settings, E'\n'), 'body', concat(E'\n', body, E'\n')
  ));
end
$generate$;
