//! Keeps the record sets of a team with the crate `hcloud`: see tests/clients/README.md.

use std::{collections::BTreeMap, env, error::Error, fs, time::Duration};

use hcloud::apis::{actions_api, configuration::Configuration, zones_api};
use hcloud::models::{
    Action, ChangeRrsetsTtlRequest, ResourceRecord, ResourceRecordSet, ResourceRecordSetToCreate,
    ResourceRecordSetType, SetRecordsOfRrsetRequest, action::Status,
};
use serde::{Deserialize, Serialize};

type Done = Result<(), Box<dyn Error>>;

#[derive(Clone, Deserialize, PartialEq, Serialize)]
struct Set {
    name: String,
    r#type: ResourceRecordSetType,
    ttl: i32,
    values: Vec<String>,
}

impl Set {
    fn key(&self) -> String {
        format!("{}/{}", self.name, self.r#type)
    }

    fn records(&self) -> Vec<ResourceRecord> {
        self.values.iter().cloned().map(ResourceRecord::new).collect()
    }
}

struct Client {
    api: Configuration,
    zone: String,
}

fn connect() -> Result<Configuration, env::VarError> {
    // snippet connect
    let mut api = Configuration::new();
    api.bearer_access_token = Some(env::var("HCLOUD_TOKEN")?);
    api.base_path_mapping.insert(
        "https://api.hetzner.cloud/v1".into(),
        env::var("HCLOUD_ENDPOINT")?, // https://dns.example.org/v1
    );
    // end of snippet
    Ok(api)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let client = Client {
        api: connect()?,
        zone: env::var("CORRAL_ZONE")?,
    };
    match env::args().next_back().as_deref() {
        Some("apply") => client.apply().await,
        Some("held") => {
            let sets: Vec<Set> = client.held().await?.into_values().collect();
            println!("{}", serde_json::json!({ "sets": sets }));
            Ok(())
        }
        _ => Err("usage: hcloud-rust apply|held".into()),
    }
}

impl Client {
    async fn apply(&self) -> Done {
        let wanted: Vec<Set> = serde_json::from_str(&fs::read_to_string(env::var("CORRAL_WANTED")?)?)?;
        let held = self.held().await?;
        for set in held
            .values()
            .filter(|set| wanted.iter().all(|each| each.key() != set.key()))
        {
            self.delete(set)
                .await
                .map_err(|error| format!("{}: {error}", set.key()))?;
        }
        for set in &wanted {
            let kept = match held.get(&set.key()) {
                None => self.create(set).await,
                Some(current) => self.change(current, set).await,
            };
            kept.map_err(|error| format!("{}: {error}", set.key()))?;
        }
        Ok(())
    }

    async fn held(&self) -> Result<BTreeMap<String, Set>, Box<dyn Error>> {
        let mut sets = BTreeMap::new();
        let mut page = Some(1);
        while page.is_some() {
            let params = zones_api::ListRrsetsParams {
                id_or_name: self.zone.clone(),
                page,
                ..Default::default()
            };
            let list = zones_api::list_rrsets(&self.api, params).await.map_err(said)?;
            for rrset in list.rrsets {
                let set = shown(rrset);
                sets.insert(set.key(), set);
            }
            page = list.meta.pagination.next_page;
        }
        Ok(sets)
    }

    async fn create(&self, set: &Set) -> Done {
        let mut rrset = ResourceRecordSetToCreate::new(set.name.clone(), set.records(), set.r#type);
        rrset.ttl = Some(Some(set.ttl));
        let params = zones_api::CreateRrsetParams {
            id_or_name: self.zone.clone(),
            resource_record_set_to_create: rrset,
        };
        self.wait_for(*zones_api::create_rrset(&self.api, params).await.map_err(said)?.action)
            .await
    }

    async fn change(&self, current: &Set, set: &Set) -> Done {
        let (zone, name, kind) = (self.zone.clone(), set.name.clone(), set.r#type.to_string());
        if current.ttl != set.ttl {
            let params = zones_api::ChangeRrsetsTtlParams {
                id_or_name: zone.clone(),
                rr_name: name.clone(),
                rr_type: kind.clone(),
                change_rrsets_ttl_request: ChangeRrsetsTtlRequest::new(Some(set.ttl)),
            };
            self.wait_for(
                *zones_api::change_rrsets_ttl(&self.api, params)
                    .await
                    .map_err(said)?
                    .action,
            )
            .await?;
        }
        if current.values != set.values {
            let params = zones_api::SetRecordsOfRrsetParams {
                id_or_name: zone,
                rr_name: name,
                rr_type: kind,
                set_records_of_rrset_request: SetRecordsOfRrsetRequest::new(set.records()),
            };
            self.wait_for(
                *zones_api::set_records_of_rrset(&self.api, params)
                    .await
                    .map_err(said)?
                    .action,
            )
            .await?;
        }
        Ok(())
    }

    async fn delete(&self, set: &Set) -> Done {
        let params = zones_api::DeleteRrsetParams {
            id_or_name: self.zone.clone(),
            rr_name: set.name.clone(),
            rr_type: set.r#type.to_string(),
        };
        self.wait_for(*zones_api::delete_rrset(&self.api, params).await.map_err(said)?.action)
            .await
    }

    async fn wait_for(&self, mut action: Action) -> Done {
        while action.status == Status::Running {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let params = actions_api::GetActionParams { id: action.id };
            action = *actions_api::get_action(&self.api, params).await.map_err(said)?.action;
        }
        match action.error {
            None => Ok(()),
            Some(error) => Err(format!("{}: {}", error.code, error.message).into()),
        }
    }
}

fn shown(rrset: ResourceRecordSet) -> Set {
    Set {
        name: rrset.name,
        r#type: rrset.r#type,
        ttl: rrset.ttl.unwrap_or_default(),
        values: rrset.records.into_iter().map(|record| record.value).collect(),
    }
}

/// An error of the crate says only the status; the body says why.
fn said<T>(error: hcloud::apis::Error<T>) -> String {
    match error {
        hcloud::apis::Error::ResponseError(answer) => format!("{} {}", answer.status, answer.content),
        hcloud::apis::Error::Reqwest(error) => format!("{error:?}"),
        hcloud::apis::Error::Serde(error) => error.to_string(),
        hcloud::apis::Error::Io(error) => error.to_string(),
    }
}
