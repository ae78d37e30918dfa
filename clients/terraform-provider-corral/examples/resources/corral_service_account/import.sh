terraform import corral_service_account.ci ci
