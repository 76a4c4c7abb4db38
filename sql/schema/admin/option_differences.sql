-- Which settings of a queue, or of one of its consumers, are others than somebody expects.

-- The options that are named and have another value in the database, each with that: in the words of change_queue and change_consumer, intervals as
-- a number of seconds; null: none. An option that is null is not asked for. consumer null: of the queue. For whoever may send to the queue or
-- receive from it, or may look at it; those of a consumer for whoever may receive, or look.
-- Errors: PQ001 no such queue, PQ002 no such consumer, PQ004 options that cannot be.
create function option_differences(queue text, options jsonb, consumer text default null, caller caller default current_user) returns table (
  "option" text, found jsonb
)
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  known constant option_kind[] := case
    when consumer is null then queue_option_kinds()
    else row('mode', 'word', 'exclusive,shared,ordered', null, false)::option_kind || consumer_option_kinds()
  end;
  settings jsonb;
begin
  if not may_view(caller) then
    if consumer is null then
      perform require_use(caller, of_queue);
    else
      perform require_receive(caller, of_queue);
    end if;
  end if;
  if consumer is null then
    select s.settings into settings from queue_settings(option_differences.queue) s;
  else
    select to_jsonb(c) into settings from consumer c where c.id = require_consumer(of_queue, option_differences.consumer);
  end if;
  options := jsonb_strip_nulls(options);
  perform refuse_options(array(select p.problem from option_problems(options, 'option_differences', known) p), known);
  return query
    select k.name, d.found
      from unnest(known) as k
     cross join lateral (select comparable_option(settings -> k.name, k)) as d(found)
     where options ? k.name and comparable_option(options -> k.name, k) is distinct from d.found;
end
$$;

-- The value of an option in the one form that it is compared in; null: none.
create function comparable_option(value jsonb, of option_kind) returns jsonb
language sql
stable
set search_path from current
return case
  when value #>> '{}' is null then null
  when (of).kind in ('interval', 'span') then to_jsonb(trim_scale(extract(epoch from (value #>> '{}')::interval)::numeric))
  when (of).kind = 'integer' then to_jsonb((value #>> '{}')::bigint)
  when (of).kind = 'boolean' then to_jsonb((value #>> '{}')::boolean)
  else to_jsonb(value #>> '{}')
end;
