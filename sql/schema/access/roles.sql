-- Who may call what. Four roles, which belong to the cluster and are kept when the schema is dropped:
--
--   <schema>_viewer   looks at every queue and changes nothing
--   <schema>_reader   consumes, and looks: may receive from every queue
--   <schema>_writer   produces: may send to every queue
--   <schema>_admin    both, and administers
--
-- None of them, and nobody with a grant of one queue, has a privilege on a table or a sequence: all is done by functions, three of which
-- are also views for tools of PgQue (compat/pgque_views.sql). What holds
-- for one queue is a privilege on the functions generated for it; send, send_batch, receive_messages and ack run with the caller's
-- rights and call those, the other functions ask for it (see access/caller.sql).

-- The functions that are there to be called, and the privilege that their callers need; all others are for the owner of the schema alone.
-- <queue>: generated for each queue.
--   anything    send, receive or view; what it gives depends on the caller
--   send, receive
--   view        look at every queue
--   maintain    maintain every queue
--   administer
create function function_privileges() returns table (function_name text, privilege text)
language sql
immutable
begin atomic
  select unnest('{version,fingerprint,result,steps,progress,require_queue,create_queue,backoff,wake_channel,run_schedule,schedules,held_locks,option_differences}'::text[]), 'anything'
  union all
  select unnest('{send,send_batch,send_deduplicated,send_batch_deduplicated,send_<queue>,send_batch_<queue>,insert_event}'::text[]), 'send'
  union all
  select unnest('{
    receive,receive_messages,next_messages,receive_<queue>,batch_queue,extend,ack,ack_<queue>,ack_by_number,ack_strict,ack_with_results,store_step,forget_steps,report_progress,nack,snooze,bury,settle,report_started,finish_batch,event_retry,
    cancel,cancel_by_key,subscribe,unsubscribe,seek,register_consumer,unregister_consumer,
    subscribe_subconsumer,receive_coop,touch_subconsumer,unsubscribe_subconsumer,
    heartbeat,hold_session,raise_idle_flag,lower_idle_flag,has_open_senders,maintain,deliver_due,maintain_shared,maintain_queue,queues_to_maintain,next_due_at,max_retries,skipped_messages,schedule
  }'::text[]), 'receive'
  union all
  select unnest('{
    queue_status,consumer_status,segment_status,worker_status,maintenance_status,maintenance_problems,lost_batches,waiting_lanes,status,get_queue_info,get_consumer_info,subscription_rows,retry_queue_rows,tick_rows,queue_names,dlq_inspect,
    queue_settings,consumer_settings,peek,tail,find_message,dead_letters
  }'::text[]), 'view'
  union all
  select unnest('{maintain_all,maint,maint_retry_events,ticker,force_tick,force_next_tick}'::text[]), 'maintain'
  union all
  select unnest('{
    drop_queue,change_queue,set_queue_config,change_consumer,set_consumer_config,pause,resume,purge,deliver_delayed,unschedule,redrive,purge_dead_letters,dlq_replay,dlq_replay_all,dlq_purge,
    grant_queue,revoke_queue
  }'::text[]), 'administer';
end;

-- The privileges of a role of the schema: viewer, reader, writer or admin.
create function role_privileges(kind text) returns text[]
language sql
immutable
return case kind
  when 'viewer' then '{anything,view}'::text[]
  when 'reader' then '{anything,view,receive,maintain}'
  when 'writer' then '{anything,send}'
  when 'admin' then '{anything,view,send,receive,maintain,administer}'
end;

-- The name of a role of the schema; longer than a name can be if that of the schema is.
create function schema_role(kind text) returns text
language sql
stable
set search_path from current
return current_schema() || '_' || kind;

-- The functions that need one of these privileges, for a GRANT: those of one queue, or those of no queue.
create function routines(privileges text[], queue_id int default null) returns text
language sql
stable
set search_path from current
begin atomic
  select string_agg(format(qualified('{schema}.%I(%s)'), p.proname, pg_get_function_identity_arguments(p.oid)), ', ')
    from function_privileges() f
    join pg_namespace n on n.nspname = current_schema()
    join pg_proc p on p.pronamespace = n.oid and p.proname = replace(f.function_name, '<queue>', coalesce(routines.queue_id::text, '<queue>'))
   where f.privilege = any (routines.privileges)
     and (f.function_name like '%<queue>') = (routines.queue_id is not null);
end;

-- The roles of the schema that have been given their privileges: all of them, or none.
create function granted_roles() returns table (kind text, role_name text)
language sql
stable
set search_path from current
begin atomic
  select k.kind, r.rolname::text
    from unnest('{viewer,reader,writer,admin}'::text[]) as k(kind)
    join pg_roles r on r.rolname::text = schema_role(k.kind)
   where exists (
     select from pg_namespace n, aclexplode(n.nspacl) g
      where n.nspname = current_schema() and g.grantee = r.oid and g.privilege_type = 'USAGE'
   );
end;

-- Gives the roles their privileges on the functions of one queue, or on those of no queue. Nothing is given to roles that create_roles has
-- not dealt with: another database of the cluster may have made them.
create function grant_to_roles(queue_id int default null) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  granted record;
begin
  for granted in select g.kind, g.role_name, routines(role_privileges(g.kind), queue_id) from granted_roles() g loop
    -- a viewer has none of one queue
    continue when granted.routines is null;
    execute format('grant execute on routine %s to %I', granted.routines, granted.role_name);
    if queue_id is null and 'view' = any (role_privileges(granted.kind)) then
      execute format(qualified('grant select on {schema}.subscription, {schema}.retry_queue, {schema}.tick to %I'), granted.role_name);
    end if;
  end loop;
end
$$;

-- Creates the four roles, those that are not there yet, and gives them their privileges. Returns how many it created. The installer calls
-- it; when it may not create roles, the owner of the schema or a superuser calls it later, or again after a restore into another cluster.
create function create_roles() returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  kind text;
  role_name text;
  created int := 0;
  queue_id int;
begin
  foreach kind in array '{viewer,reader,writer,admin}'::text[] loop
    role_name := schema_role(kind);
    if octet_length(role_name) > 63 then
      raise exception using
        errcode = 'PQ004',
        message = format('expected the schema''s name to have at most 56 bytes, for its roles to have a name, got: %s (%s bytes)',
          quote_literal(current_schema()), octet_length(current_schema())),
        hint = 'Grant queues to roles of your own with grant_queue, or install into a schema with a shorter name.';
    end if;
    -- not without need: who may not create roles can use those that are there
    if not exists (select from pg_roles r where r.rolname = role_name) then
      begin
        execute format('create role %I nologin', role_name);
        created := created + 1;
      exception
        when duplicate_object or unique_violation then
          -- another installer was faster
          null;
        when insufficient_privilege then
          raise exception using
            errcode = 'insufficient_privilege',
            message = format('role %s is not there, and %s may not create it', quote_ident(role_name), quote_ident(current_user)),
            hint = format('Have a superuser call create_roles(), or create %I, %I, %I and %I and call it again.',
              schema_role('viewer'), schema_role('reader'), schema_role('writer'), schema_role('admin'));
      end;
    end if;
  end loop;

  perform lock_queue_functions(null);
  foreach kind in array '{viewer,reader,writer,admin}'::text[] loop
    execute format('grant usage on schema %I to %I', current_schema(), schema_role(kind));
  end loop;
  perform grant_to_roles();
  for queue_id in select q.id from queue q order by q.id loop
    perform grant_to_roles(queue_id);
  end loop;
  return created;
end
$$;

-- Keeps others from writing the functions of one queue, or of all, anew: they and a GRANT would fail over one row of the catalog. The registry's
-- lock is enough for that, since a ring that grows takes it too (grow_ring); the lock of a queue's maintenance keeps that out altogether.
create function lock_queue_functions(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  perform pg_advisory_xact_lock(lock_key('maintain', q.id))
     from queue q
    where q.id = lock_queue_functions.queue_id;
end
$$;

-- The roles in one line, and whether they are there, for status().
create function roles_of_schema(out status text, out detail text)
language sql
stable
set search_path from current
begin atomic
  select case when count(*) > 0 then 'ok' else 'info' end,
         coalesce(string_agg(quote_ident(g.role_name), ', ' order by g.role_name),
           'none: the schema was installed without, the owner or a superuser may call create_roles()')
    from granted_roles() g;
end;
