-- What maintenance knows about a segment: it looks at the whole ring once in a call.
create type ring_segment as (
  segment int,
  -- on disk, of each table of the segment, with its TOAST, without indexes
  message_bytes bigint,
  batch_bytes bigint,
  outcome_bytes bigint,
  -- A truncation gives a table a new file, whose numbers go up. So their order is that in which segments have been truncated, and so filled. Where
  -- they do not go up, once in four billion files, nothing but this order suffers.
  file oid
);

-- The segments of a queue, in the order in which they have been truncated.
create function ring_segments(queue_id int) returns setof ring_segment
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- a plan for the very number of segments would be made anew in each call
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    select s.segment, sum(t.bytes) filter (where t.kind = 'message')::bigint, sum(t.bytes) filter (where t.kind = 'batch')::bigint,
           sum(t.bytes) filter (where t.kind = 'outcome')::bigint, max(t.file) filter (where t.kind = 'message')
      from generate_series(0, segment_count(ring_segments.queue_id) - 1) as s(segment)
     cross join lateral (
       select k.kind, c.relfilenode as file, pg_relation_size(c.oid) + case when c.reltoastrelid = 0 then 0 else pg_relation_size(c.reltoastrelid) end as bytes
         from unnest('{message,batch,outcome}'::text[]) as k(kind)
         join pg_class c on c.oid = relation(format('%s_%s_%s', k.kind, ring_segments.queue_id, s.segment))
       offset 0
     ) t
     group by s.segment
     order by 5, 1;
end
$$;

-- Nothing is in the segment.
create function is_empty(segment ring_segment) returns boolean
language sql
immutable
return (segment).message_bytes + (segment).batch_bytes + (segment).outcome_bytes = 0;
