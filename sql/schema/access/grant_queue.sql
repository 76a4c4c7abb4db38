-- Rights to one queue, for roles that are not to have them to all.

-- Lets a role send to a queue, or receive from it: privilege is send or receive. Gives it what else it needs, which is USAGE on the schema
-- and the functions that everybody calls. To look is a right to all queues: see <schema>_viewer. To receive includes to subscribe, unsubscribe and seek, for whatever consumer of the queue.
create function grant_queue(queue text, role_name text, privilege text) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
begin
  perform check_grant(role_name, privilege), lock_queue_functions(of_queue);
  execute format('grant usage on schema %I to %I', current_schema(), role_name);
  execute format('grant execute on routine %s, %s to %I', routines(array['anything', privilege]), routines(array[privilege], of_queue), role_name);
end
$$;

-- Takes it back; with the last one, USAGE on the schema too. What the role may do as a member of others it still may.
create function revoke_queue(queue text, role_name text, privilege text) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
begin
  perform check_grant(role_name, privilege), lock_queue_functions(of_queue);
  execute format('revoke execute on routine %s from %I', routines(array[privilege], of_queue), role_name);
  if has_queue(role_name, privilege) then
    return;
  end if;
  execute format('revoke execute on routine %s from %I', routines(array[privilege]), role_name);
  if has_queue(role_name, case privilege when 'send' then 'receive' else 'send' end) then
    return;
  end if;
  execute format('revoke execute on routine %s from %I', routines('{anything}'), role_name);
  execute format('revoke usage on schema %I from %I', current_schema(), role_name);
end
$$;

-- Whether a role has a privilege on some queue by a grant of its own.
create function has_queue(role_name text, privilege text) returns boolean
language sql
stable
set search_path from current
begin atomic
  select exists (
    select from queue q
      join pg_namespace n on n.nspname = current_schema()
      join pg_proc p on p.pronamespace = n.oid and p.proname = format('%s_%s', has_queue.privilege, q.id)
     cross join lateral aclexplode(p.proacl) g
      join pg_roles r on r.oid = g.grantee and r.rolname = has_queue.role_name
  );
end;

-- Gives whoever has been granted a queue the functions that have come since: those of a newer version.
create function grant_queues_again() returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  held record;
begin
  for held in
    select q.id as queue_id, k.privilege, r.rolname
      from queue q
     cross join unnest('{send,receive}'::text[]) as k(privilege)
      join pg_proc p on p.pronamespace = quote_ident(current_schema())::regnamespace and p.proname = format('%s_%s', k.privilege, q.id)
     cross join lateral aclexplode(p.proacl) g
      join pg_roles r on r.oid = g.grantee
     where g.grantee <> p.proowner and r.rolname <> all (array[schema_role('viewer'), schema_role('reader'), schema_role('writer'), schema_role('admin')])
     group by q.id, k.privilege, r.rolname
  loop
    execute format('grant execute on routine %s, %s to %I', routines(array['anything', held.privilege]), routines(array[held.privilege], held.queue_id), held.rolname);
  end loop;
end
$$;

create function check_grant(role_name text, privilege text) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if (privilege in ('send', 'receive')) is not true then
    raise exception using errcode = 'PQ004', message = format('expected the privilege to be send or receive, got: %L', privilege);
  end if;
  if not exists (select from pg_roles r where r.rolname = role_name) then
    raise exception using
      errcode = 'PQ004',
      message = format('role not found: %s', coalesce(role_name, 'NULL')),
      hint = 'Create it with CREATE ROLE; its name is given as it is, without quotes.';
  end if;
  if role_name in (schema_role('viewer'), schema_role('reader'), schema_role('writer'), schema_role('admin')) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected a role of your own, got: %s', role_name),
      hint = 'What the roles of the schema may do they may on every queue. Make somebody a member with GRANT.';
  end if;
end
$$;
